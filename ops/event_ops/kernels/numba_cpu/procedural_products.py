"""Products with a Bernoulli random matrix on the CPU: one loop along generated rows, whatever is multiplied.

y[i] = sum of times(weight (i, j), x[j]) over the entries of row i, or for the transpose y[j] += times(weight
(i, j), x[i]), for the rows i in which an x counts. An element of a vector is a number, that of a matrix a row
of numbers, for all of which an entry is generated once.
"""

import operator
from collections.abc import Callable
from functools import cache, partial
from typing import Any, Final

import jax.numpy as jnp
import numpy as np
from numba import prange

from event_ops.kernels.numba_cpu.access import hoist, weighted
from event_ops.kernels.numba_cpu.events import event_at, listed_ids, lookup_of
from event_ops.kernels.numba_cpu.jit import REORDER, njit, num_threads, one_and_all
from event_ops.kernels.numba_cpu.random_numbers import BLOCK, next_entries, parameters, weight_of
from event_ops.kernels.numba_cpu.split import add_up, clear, parts_for, private
from event_ops.kernels.reference import bernoulli as reference
from ffi_bridge import numba_kernel

# A draw takes about three times as long as reading an entry, so fewer are worth a parallel launch.
MIN_DRAWS_PARALLEL: Final = 1 << 13


@cache
def make_along_row(add: Any) -> Any:
    """Return the loop `total = add(total, y, weight (row, j), j, x)` over the entries of a row, from 0 on.

    A term adds to the number that is the total, or into the array y.
    """

    @njit(fastmath=REORDER, _nrt=False, forceinline=True)
    def along_row(matrix: Any, row: Any, columns: Any, x: Any, y: Any) -> Any:
        weight, seed, table, block = matrix
        column, draw, total = np.uint32(0), np.uint32(0), y.dtype.type(0)
        while column < columns:
            count, column = next_entries(block, table, seed, row, draw, column, columns)
            # Numba widens a sum of two uint32 to 64 bits.
            draw = np.uint32(draw + np.uint32(BLOCK))
            for k in range(count):
                j = block[0, k]
                total = add(total, y, weight_of(weight, seed, row, j, block[1, k]), np.uintp(j), x)
        return total

    return along_row


@njit
def generated(weight: Any, seed: Any, table: Any) -> Any:
    """Return the matrix that `along_row` takes, with space for the entries of `next_entries`."""
    return parameters(weight), hoist(seed), table, np.empty((2, BLOCK), np.uint32)


@cache
def gather_kernels(times: Any, by_matrix: bool) -> tuple[Any, Any]:
    """Return the kernels of A @ x for one thread and for all threads."""

    @njit(fastmath=REORDER, _nrt=False)
    def add_number(total: Any, y: Any, entry: Any, j: Any, x: Any) -> Any:
        return total + times(entry, event_at(x, j))

    @njit(fastmath=REORDER, _nrt=False)
    def add_numbers(total: Any, y: Any, entry: Any, j: Any, x: Any) -> Any:
        values = x[j]
        for c in range(np.uintp(y.size)):
            y[c] += times(entry, values[c])
        return total

    sum_number, sum_numbers = make_along_row(add_number), make_along_row(add_numbers)

    @njit(_nrt=False, forceinline=True)
    def vector_row(matrix: Any, row: Any, columns: Any, x: Any, y: Any) -> None:
        y[row] = sum_number(matrix, row, columns, x, y)

    @njit(_nrt=False, forceinline=True)
    def matrix_row(matrix: Any, row: Any, columns: Any, x: Any, y: Any) -> None:
        totals = y[row]
        totals[:] = 0
        sum_numbers(matrix, row, columns, x, totals)

    read, sum_row = (itself, matrix_row) if by_matrix else (lookup_of, vector_row)

    @njit
    def gather_rows(
        weight: Any, seed: Any, table: Any, x: Any, columns: Any, y: Any, low: int, high: int
    ) -> None:
        matrix = generated(weight, seed, table)
        for row in range(np.uintp(low), np.uintp(high)):
            sum_row(matrix, row, np.uint32(columns), x, y)

    @one_and_all
    def gather(large: bool) -> Any:
        def gather_parts(weight: Any, seed: Any, table: Any, per_row: Any, x: Any, y: Any) -> None:
            values, parts, columns, rows = read(x), num_threads() if large else 1, x.shape[0], y.shape[0]
            for part in prange(parts):
                low, high = rows * part // parts, rows * (part + 1) // parts
                gather_rows(weight, seed, table, values, columns, y, low, high)

        return gather_parts

    return gather


@njit
def itself(x: Any) -> Any:
    """Return x: rows of a matrix are read as they are."""
    return x


@cache
def scatter_kernels(times: Any, by_matrix: bool, rows_of: Any) -> tuple[Any, Any]:
    """Return the kernels of A.T @ x, over the rows `rows_of(x)`, for one thread and for all threads."""

    @njit
    def number_of(x: Any, row: Any, y: Any) -> Any:
        return y.dtype.type(x[row])  # of an active event, so that nothing is left to select

    @njit(fastmath=REORDER, _nrt=False)
    def add_number(total: Any, y: Any, entry: Any, j: Any, value: Any) -> Any:
        y[j] += entry * value
        return total

    @njit
    def numbers_of(x: Any, row: Any, y: Any) -> Any:
        return x[row]

    @njit(fastmath=REORDER, _nrt=False)
    def add_numbers(total: Any, y: Any, entry: Any, j: Any, values: Any) -> Any:
        totals = y[j]
        for c in range(np.uintp(totals.size)):
            totals[c] += times(entry, values[c])
        return total

    value_of = numbers_of if by_matrix else number_of
    add_row = make_along_row(add_numbers if by_matrix else add_number)

    @njit
    def scatter_rows(weight: Any, seed: Any, table: Any, x: Any, rows: Any, y: Any) -> None:
        matrix, columns = generated(weight, seed, table), np.uint32(y.shape[0])
        for position in range(np.uintp(rows.size)):
            row = np.uintp(rows[position])
            add_row(matrix, row, columns, value_of(x, row, y), y)

    @one_and_all
    def scatter(large: bool) -> Any:
        def scatter_parts(weight: Any, seed: Any, table: Any, per_row: Any, x: Any, y: Any) -> None:
            rows = rows_of(x)
            draws = rows.size * per_row[0]
            parts = parts_for(draws, y.shape[0]) if large else 1
            clear(y)
            if not large or draws < MIN_DRAWS_PARALLEL or parts == 1:
                scatter_rows(weight, seed, table, x, rows, y)
            else:
                spare = np.empty((parts - 1, *y.shape), y.dtype)
                for part in prange(parts):
                    mine = private(y, spare, part)
                    if part > 0:
                        clear(mine)
                    share = rows[rows.size * part // parts : rows.size * (part + 1) // parts]
                    scatter_rows(weight, seed, table, x, share, mine)
                add_up(spare, y)

        return scatter_parts

    return scatter


@njit
def every_row(x: Any) -> Any:
    """Return the numbers of all rows: a row counts whatever it is multiplied with."""
    return np.arange(x.shape[0])


@njit
def active_rows(events: Any) -> Any:
    """Return the rows of a matrix of events in which one is active, ascending."""
    rows, count = np.empty(events.shape[0], np.uint32), np.uintp(0)
    for row in range(np.uintp(events.shape[0])):
        active = False
        for c in range(np.uintp(events.shape[1])):
            active |= events[row, c] != 0
        rows[count] = row
        count += np.uintp(active)
    return rows[:count]


def product(
    times: Any,
    rows_of: tuple[Any, Any],
    *,
    outs: Any,
    prob: float,
    shape: tuple[int, int],
    distribution: str,
    transpose: bool,
    **_: Any,
) -> Callable[..., Any]:
    """Return the native call `(weight, seed, x) -> y`; the number of draws picks one of the two kernels.

    times: what an entry of a weight and an element of x adds. rows_of: lists the rows that the transpose
    generates, for a vector and for a matrix.
    """
    rows, columns = shape
    per_row = int(columns * prob + columns / reference.NO_ENTRY) + 1  # draws, about
    by_matrix = len(outs.shape) == 2
    scatter = scatter_kernels(times, by_matrix, rows_of[by_matrix])
    kernels = scatter if transpose else gather_kernels(times, by_matrix)
    run = numba_kernel(kernels[rows * per_row >= MIN_DRAWS_PARALLEL], outs)

    def call(weight: Any, seed: Any, x: Any) -> Any:
        # The rank of its parameters tells the distribution: see `parameters`.
        typed = weight.reshape(2, 1) if distribution == "normal" else weight
        table = jnp.asarray(reference.gap_table(prob))
        # An array, since a number in the closure would need a kernel for every probability and shape.
        return run(typed, seed, table, jnp.full(1, per_row, "int32"), x)

    return call


procedural_matvec = procedural_matmat = partial(product, operator.mul, (every_row, every_row))
procedural_event_matvec = procedural_event_matmat = partial(product, weighted, (listed_ids, active_rows))

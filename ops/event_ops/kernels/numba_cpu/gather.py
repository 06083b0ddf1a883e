"""Gathering along the rows of a sparse matrix: sums of weights, each times the value at its index.

Real numbers are summed in SIMD values, for which what indices point at is loaded one by one: gather
instructions take longer on many processors. All else has four sums, so that no addition waits for the one
before.
"""

import operator
from collections.abc import Callable
from functools import cache
from typing import Any, Final

import numpy as np

from event_ops.kernels.numba_cpu.access import at, hoist, row_span, weighted
from event_ops.kernels.numba_cpu.jit import CONTRACT, INLINED, by_type, dtype_of, is_array, is_tuple, njit
from event_ops.kernels.numba_cpu.prefetch import is_far, is_far_to_read, prefetch_stream, prefetch_targets
from event_ops.kernels.numba_cpu.simd import add_product, all_below, gathered, load, sum_of, zeros

Function = Callable[[Any, Any], Any]

WIDTH: Final = 8

_1, _2, _3, _4, _WIDTH = (np.uintp(n) for n in (1, 2, 3, 4, WIDTH))


@cache
def make_row_sum(times: Function, value_at: Function) -> Any:
    """Return the kernel that sums times(weight k, value_at(values, indices[k])) over entries `k` to `end`."""

    @njit(_nrt=False, forceinline=True)
    def term(weights: Any, indices: Any, values: Any, size: Any, k: Any, zero: Any) -> Any:
        j = np.uintp(indices[k])
        return times(at(weights, k), value_at(values, j)) if j < size else zero

    # Inlined without reference counts, which would take longer than a short row. The last three entries have
    # no loop, since its end would be mispredicted in most rows.
    @njit(fastmath=CONTRACT, _nrt=False, forceinline=True)
    def row_sum(weights: Any, indices: Any, values: Any, size: Any, k: Any, end: Any, zero: Any) -> Any:
        a = b = c = d = zero
        while k + _4 <= end:
            a += term(weights, indices, values, size, k, zero)
            b += term(weights, indices, values, size, k + _1, zero)
            c += term(weights, indices, values, size, k + _2, zero)
            d += term(weights, indices, values, size, k + _3, zero)
            k += _4
        if k < end:
            a += term(weights, indices, values, size, k, zero)
        if k + _1 < end:
            b += term(weights, indices, values, size, k + _1, zero)
        if k + _2 < end:
            c += term(weights, indices, values, size, k + _2, zero)
        return (a + b) + (c + d)

    return row_sum


sum_of_numbers = make_row_sum(operator.mul, operator.getitem)
sum_of_events = make_row_sum(weighted, operator.getitem)


@by_type
def weights_at(weights: Any, k: Any) -> Any:
    """Return WIDTH weights from place k on, or the single weight."""
    return (lambda weights, k: load(weights, k, WIDTH)) if is_array(weights) else (lambda weights, k: weights)


@by_type(**INLINED)
def number_row(weights: Any, indices: Any, values: Any, size: Any, k: Any, end: Any, zero: Any) -> Any:
    """Return the sum of weight k * values[indices[k]] over the entries from k up to `end`."""
    # SIMD values hold neighbours of one real type: no permuted weights, which are pairs.
    if is_tuple(weights) or dtype_of(weights) != dtype_of(values) or dtype_of(values).kind == "c":
        return lambda weights, indices, values, size, k, end, zero: sum_of_numbers(
            weights, indices, values, size, k, end, zero
        )

    def row(weights: Any, indices: Any, values: Any, size: Any, k: Any, end: Any, zero: Any) -> Any:
        total = zeros(values, WIDTH)
        while k + _WIDTH <= end and all_below(indices, k, size, WIDTH):
            total = add_product(total, weights_at(weights, k), gathered(values, indices, k, WIDTH))
            k += _WIDTH
        # The checked loop takes the rest: the last entries, or all from an index out of range on.
        return sum_of(total) + sum_of_numbers(weights, indices, values, size, k, end, zero)

    return row


@njit(_nrt=False, forceinline=True)
def event_row(weights: Any, indices: Any, values: Any, size: Any, k: Any, end: Any, zero: Any) -> Any:
    """Return the sum of `number_row`, to which an event of 0 adds exactly 0, whatever its weight is.

    NaN or infinity times 0 shows in the sum, which then is made anew: so a product with events takes as
    long as one with numbers.
    """
    total = number_row(weights, indices, values, size, k, end, zero)
    if np.isfinite(total):
        return total
    return sum_of_events(weights, indices, values, size, k, end, zero)


# Inlined before types are known: an array that a function returns is counted once more.
@njit(inline="always")
def beside_own(values: Any, i: Any) -> Any:
    """Return the operand of the terms of row i that read values[i], too."""
    return values, values[i]


@njit(_nrt=False, forceinline=True)
def above_own(seen: Any, j: Any) -> Any:
    """Return values[j] - values[i], given the result of `beside_own` for row i."""
    values, own_value = seen
    return values[j] - own_value


@cache
def make_row_gather(row_sum: Any, seen_by: Any = None) -> Any:
    """Return the kernel `y[i] = row_sum(...)` of row i, for the rows from `low` to `high`.

    `seen_by(values, i)` gives what the terms of row i read, where it is not the same for all rows.
    """

    @njit
    def gather_rows(data: Any, indices: Any, ends: Any, values: Any, y: Any, low: int, high: int) -> None:
        weights, nse, zero = hoist(data), np.uintp(indices.size), y.dtype.type(0)
        columns, streamed, far = np.uintp(values.size), is_far(indices), is_far_to_read(values)
        prefetched = row_span(ends, np.uintp(low), nse)[0] if low < high else nse
        for i in range(np.uintp(low), np.uintp(high)):
            begin, end = row_span(ends, i, nse)
            if streamed:
                prefetched = prefetch_stream(weights, indices, prefetched, end)
            if far:
                prefetch_targets(values, indices, begin, end)
            if seen_by is None:
                y[i] = row_sum(weights, indices, values, columns, begin, end, zero)
            else:
                y[i] = row_sum(weights, indices, seen_by(values, i), columns, begin, end, zero)

    return gather_rows

"""Products of a Bernoulli random matrix with a dense one: a row is generated once for all columns."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numba import prange

from event_ops.kernels.numba_cpu.access import hoist
from event_ops.kernels.numba_cpu.bernoulli import BLOCK, new_block, next_entries, parameters, weight_of
from event_ops.kernels.numba_cpu.gather import Function
from event_ops.kernels.numba_cpu.jit import REORDER, njit, num_threads
from event_ops.kernels.numba_cpu.split import add_up, clear, parts_for, private


@njit
def always(x: Any, row: Any) -> bool:
    """Return True: a row is needed whatever it is multiplied with."""
    return True


@njit
def any_active(events: Any, row: Any) -> bool:
    """Return whether an event of a row of events is active."""
    found = False
    for c in range(np.uintp(events.shape[1])):
        found |= events[row, c] != 0
    return found


@cache
def gather_kernels(times: Function) -> tuple[Any, Any]:
    """Return the kernels for one thread and for all of `y[i] = sum of times(weight (i, j), x[j])`."""

    @njit(fastmath=REORDER)
    def gather_rows(weight: Any, seed: Any, table: Any, x: Any, y: Any, low: int, high: int) -> None:
        weights, word, block = parameters(weight), hoist(seed), new_block()
        columns, n = np.uint32(x.shape[0]), np.uintp(y.shape[1])
        for row in range(np.uintp(low), np.uintp(high)):
            total, column, draw = y[row], np.uint32(0), np.uint32(0)
            total[:] = 0
            while column < columns:
                count, column = next_entries(block, table, word, row, draw, column, columns)
                draw = np.uint32(draw + np.uint32(BLOCK))
                for k in range(count):
                    j = block[0, k]
                    entry, values = weight_of(weights, word, row, j, block[1, k]), x[np.uintp(j)]
                    for c in range(n):
                        total[c] += times(entry, values[c])

    @njit
    def matmat(weight: Any, seed: Any, table: Any, per_row: Any, x: Any, y: Any) -> None:
        gather_rows(weight, seed, table, x, y, 0, y.shape[0])

    @njit(parallel=True)
    def matmat_parallel(weight: Any, seed: Any, table: Any, per_row: Any, x: Any, y: Any) -> None:
        parts, rows = num_threads(), y.shape[0]
        for part in prange(parts):
            gather_rows(weight, seed, table, x, y, rows * part // parts, rows * (part + 1) // parts)

    return matmat, matmat_parallel


@cache
def scatter_kernels(times: Function, needed: Any) -> tuple[Any, Any]:
    """Return the kernels of `y[j] += times(weight (i, j), x[i])` over the rows i that are `needed`."""

    @njit(fastmath=REORDER)
    def scatter_row(weights: Any, word: Any, table: Any, row: Any, values: Any, y: Any, block: Any) -> None:
        columns, n = np.uint32(y.shape[0]), np.uintp(y.shape[1])
        column, draw = np.uint32(0), np.uint32(0)
        while column < columns:
            count, column = next_entries(block, table, word, row, draw, column, columns)
            draw = np.uint32(draw + np.uint32(BLOCK))
            for k in range(count):
                j = block[0, k]
                entry, total = weight_of(weights, word, row, j, block[1, k]), y[np.uintp(j)]
                for c in range(n):
                    total[c] += times(entry, values[c])

    @njit
    def scatter_rows(weight: Any, seed: Any, table: Any, x: Any, y: Any, low: int, high: int) -> None:
        weights, word, block = parameters(weight), hoist(seed), new_block()
        for row in range(np.uintp(low), np.uintp(high)):
            if needed(x, row):
                scatter_row(weights, word, table, row, x[row], y, block)

    @njit
    def matmat_transposed(weight: Any, seed: Any, table: Any, per_row: Any, x: Any, y: Any) -> None:
        clear(y)
        scatter_rows(weight, seed, table, x, y, 0, x.shape[0])

    @njit(parallel=True)
    def matmat_transposed_parallel(weight: Any, seed: Any, table: Any, per_row: Any, x: Any, y: Any) -> None:
        rows = x.shape[0]
        parts = parts_for(x.size * per_row[0], y.size)
        spare = np.empty((parts - 1, *y.shape), y.dtype)
        for part in prange(parts):
            mine = private(y, spare, part)
            mine[:] = 0
            scatter_rows(weight, seed, table, x, mine, rows * part // parts, rows * (part + 1) // parts)
        add_up(spare, y)

    return matmat_transposed, matmat_transposed_parallel

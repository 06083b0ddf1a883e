"""Product with a random matrix on the CPU, generated row by row: a gather, or for the transpose a scatter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import prange

from event_ops.parts.numba_cpu.access import hoist
from event_ops.parts.numba_cpu.bernoulli import (
    BLOCK,
    MIN_DRAWS_PARALLEL,
    draws_per_row,
    new_block,
    next_entries,
    parameters,
    scatter_row,
    tables,
    typed,
    weight_of,
)
from event_ops.parts.numba_cpu.jit import REORDER, njit, num_threads
from event_ops.parts.numba_cpu.split import add_up, parts_for, private
from ffi_bridge import numba_kernel


@njit(fastmath=REORDER)
def gather_rows(weight: Any, seed: Any, table: Any, v: Any, y: Any, low: int, high: int) -> None:
    """y[i] = sum over row i of weight * v[column], for the rows from `low` to `high`."""
    weights, word, block, columns = parameters(weight), hoist(seed), new_block(), np.uint32(v.size)
    for row in range(np.uintp(low), np.uintp(high)):
        total, column, draw = y.dtype.type(0), np.uint32(0), np.uint32(0)
        while column < columns:
            count, column = next_entries(block, table, word, row, draw, column, columns)
            draw = np.uint32(draw + np.uint32(BLOCK))
            for k in range(count):
                j = block[0, k]
                total += weight_of(weights, word, row, j, block[1, k]) * v[j]
        y[row] = total


@njit
def scatter_rows(weight: Any, seed: Any, table: Any, v: Any, y: Any, low: int, high: int) -> None:
    """y[column] += weight * v[i] over row i, for the rows from `low` to `high`."""
    weights, word, block = parameters(weight), hoist(seed), new_block()
    for row in range(np.uintp(low), np.uintp(high)):
        scatter_row(weights, word, table, row, v[row], y, block)


@njit
def matvec(weight: Any, seed: Any, table: Any, per_row: Any, v: Any, y: Any) -> None:
    gather_rows(weight, seed, table, v, y, 0, y.size)


@njit(parallel=True)
def matvec_parallel(weight: Any, seed: Any, table: Any, per_row: Any, v: Any, y: Any) -> None:
    parts = num_threads()
    for part in prange(parts):
        gather_rows(weight, seed, table, v, y, y.size * part // parts, y.size * (part + 1) // parts)


@njit
def matvec_transposed(weight: Any, seed: Any, table: Any, per_row: Any, v: Any, y: Any) -> None:
    y[:] = 0
    scatter_rows(weight, seed, table, v, y, 0, v.size)


@njit(parallel=True)
def matvec_transposed_parallel(weight: Any, seed: Any, table: Any, per_row: Any, v: Any, y: Any) -> None:
    parts = parts_for(v.size * per_row[0], y.size)
    spare = np.empty((parts - 1, y.size), y.dtype)
    for part in prange(parts):
        mine = private(y, spare, part)
        mine[:] = 0
        scatter_rows(weight, seed, table, v, mine, v.size * part // parts, v.size * (part + 1) // parts)
    add_up(spare, y)


# (transposed, large) -> kernel
KERNELS = {
    (False, False): matvec,
    (False, True): matvec_parallel,
    (True, False): matvec_transposed,
    (True, True): matvec_transposed_parallel,
}


def build(
    *, outs: Any, prob: float, shape: tuple[int, int], distribution: str, transpose: bool, **_: Any
) -> Callable[..., Any]:
    """The callable for one matrix and orientation; the number of draws decides between one thread and all."""
    large = shape[0] * draws_per_row(prob, shape[1]) >= MIN_DRAWS_PARALLEL
    product = numba_kernel(KERNELS[transpose, large], outs)

    def call(weight: Any, seed: Any, v: Any) -> Any:
        return product(typed(weight, distribution), seed, *tables(prob, shape[1]), v)

    return call

"""Product with a random matrix on the CPU, generated row by row: a gather, or for the transpose a scatter."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import prange

from event_ops.kernels.numba_cpu.access import hoist
from event_ops.kernels.numba_cpu.bernoulli import (
    gather_kernels,
    new_block,
    parameters,
    product,
    scatter_row,
)
from event_ops.kernels.numba_cpu.jit import njit
from event_ops.kernels.numba_cpu.split import add_up, parts_for, private


@njit
def scatter_rows(weight: Any, seed: Any, table: Any, v: Any, y: Any, low: int, high: int) -> None:
    """y[column] += weight * v[i] over row i, for the rows from `low` to `high`."""
    weights, word, block = parameters(weight), hoist(seed), new_block()
    for row in range(np.uintp(low), np.uintp(high)):
        scatter_row(weights, word, table, row, v[row], y, block)


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


def build(
    *, outs: Any, prob: float, shape: tuple[int, int], distribution: str, transpose: bool, **_: Any
) -> Callable[..., Any]:
    """Return the native call for one matrix and orientation."""
    gather = gather_kernels(operator.mul, operator.getitem)
    scatter = matvec_transposed, matvec_transposed_parallel
    return product(scatter if transpose else gather, outs, prob, shape, distribution)

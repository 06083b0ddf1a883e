"""Event-driven dense product with a matrix on the CPU: that with a vector for each, in parts of the weights.

A part of the weights stays in the cache while the vectors take their turns. Vectors lie in rows, as `vmap`
over vectors has them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from numba import prange

from event_ops.checks.arrays import reaches
from event_ops.kernels.numba_cpu.dense import ROWS, add_dense_rows, dot_rows
from event_ops.kernels.numba_cpu.events import ids_by_row, values_of
from event_ops.kernels.numba_cpu.jit import njit, num_threads
from event_ops.kernels.numba_cpu.split import MIN_PARALLEL
from ffi_bridge import numba_kernel

CACHED = 1 << 16  # weights of a part
NARROWEST = 128  # columns of a part: with fewer, too little is read in order


@njit
def gather(weights: Any, values: Any, ids: Any, ends: Any, y: Any, low: int, high: int) -> None:
    """y[c] = W @ values[c] for the rows of W from `low` to `high`."""
    height = max(ROWS, np.uintp(CACHED // max(1, weights.shape[1])) // ROWS * ROWS)
    for start in range(np.uintp(low), np.uintp(high), height):
        end = min(start + height, np.uintp(high))
        for c in range(y.shape[0]):
            dot_rows(weights, values[c], ids[ends[c] : ends[c + 1]], y[c], start, end)


@njit
def scatter(weights: Any, events: Any, ids: Any, ends: Any, y: Any, low: int, high: int) -> None:
    """y[c] = W.T @ events[c] for the columns of W from `low` to `high`."""
    width = np.uintp(max(NARROWEST, CACHED // max(1, weights.shape[0])))
    for start in range(np.uintp(low), np.uintp(high), width):
        end = min(start + width, np.uintp(high))
        for c in range(y.shape[0]):
            add_dense_rows(weights, events[c], ids[ends[c] : ends[c + 1]], y[c], start, end)


@njit
def matmat(weights: Any, events: Any, y: Any) -> None:
    ids, ends = ids_by_row(events)
    gather(weights, values_of(events, y), ids, ends, y, 0, y.shape[1])


@njit
def matmat_transposed(weights: Any, events: Any, y: Any) -> None:
    ids, ends = ids_by_row(events)
    scatter(weights, events, ids, ends, y, 0, y.shape[1])


@njit(parallel=True)
def matmat_parallel(weights: Any, events: Any, y: Any) -> None:
    values, (ids, ends), size = values_of(events, y), ids_by_row(events), y.shape[1]
    if ends[-1] * size < MIN_PARALLEL:
        gather(weights, values, ids, ends, y, 0, size)
    else:
        parts = num_threads()
        for part in prange(parts):
            gather(weights, values, ids, ends, y, size * part // parts, size * (part + 1) // parts)


@njit(parallel=True)
def matmat_transposed_parallel(weights: Any, events: Any, y: Any) -> None:
    (ids, ends), size = ids_by_row(events), y.shape[1]
    if ends[-1] * size < MIN_PARALLEL:
        scatter(weights, events, ids, ends, y, 0, size)
    else:
        parts = num_threads()
        for part in prange(parts):
            scatter(weights, events, ids, ends, y, size * part // parts, size * (part + 1) // parts)


KERNELS = (matmat, matmat_parallel), (matmat_transposed, matmat_transposed_parallel)  # [transpose][large]


def build(*, outs: Any, transpose: bool, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays for one orientation: on one thread, or on all for many terms."""
    by_vector = jax.ShapeDtypeStruct(outs.shape[::-1], outs.dtype)

    def call(weights: Any, events: Any) -> Any:
        large = reaches(weights.size * events.shape[1], MIN_PARALLEL)
        return numba_kernel(KERNELS[transpose][large], by_vector)(weights, events.T).T

    return call

"""CSR matrix times vector on the CPU: a gather of rows, or for the transpose a scatter of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import prange

from event_ops.checks.arrays import reaches
from event_ops.kernels.numba_cpu.access import at, hoist
from event_ops.kernels.numba_cpu.gather import gather_rows_with, number_row
from event_ops.kernels.numba_cpu.jit import REORDER, njit, take_chunks_of
from event_ops.kernels.numba_cpu.prefetch import is_far, prefetch_stream, prefetch_targets
from event_ops.kernels.numba_cpu.split import (
    MIN_PARALLEL,
    add_up,
    chunks,
    first_row,
    parts_for,
    private,
)
from ffi_bridge import numba_kernel

gather_rows = gather_rows_with(number_row)


@njit(fastmath=REORDER)
def scatter_rows(data: Any, indices: Any, indptr: Any, v: Any, y: Any, low: int, high: int) -> None:
    """y[indices[k]] += weight k * v[i] over row i, for the rows from `low` to `high`."""
    weights, nse, columns = hoist(data), np.uintp(indices.size), np.uintp(y.size)
    streamed, far = is_far(indices), is_far(y)
    asked = min(np.uintp(indptr[low]), nse)
    for i in range(np.uintp(low), np.uintp(high)):
        start, end = min(np.uintp(indptr[i]), nse), min(np.uintp(indptr[i + np.uintp(1)]), nse)
        if streamed:
            asked = prefetch_stream(weights, indices, asked, end)
        if far:
            prefetch_targets(y, indices, start, end)
        value = v[i]
        for k in range(start, end):
            j = np.uintp(indices[k])
            if j < columns:
                y[j] += at(weights, k) * value


@njit
def matvec(data: Any, indices: Any, indptr: Any, v: Any, y: Any) -> None:
    gather_rows(data, indices, indptr, v, y, 0, indptr.size - 1)


@njit(parallel=True)
def matvec_parallel(data: Any, indices: Any, indptr: Any, v: Any, y: Any) -> None:
    parts = chunks()
    take_chunks_of(1)
    for part in prange(parts):
        low, high = first_row(indptr, part, parts), first_row(indptr, part + 1, parts)
        gather_rows(data, indices, indptr, v, y, low, high)
    take_chunks_of(0)


@njit
def matvec_transposed(data: Any, indices: Any, indptr: Any, v: Any, y: Any) -> None:
    y[:] = 0
    scatter_rows(data, indices, indptr, v, y, 0, indptr.size - 1)


@njit(parallel=True)
def matvec_transposed_parallel(data: Any, indices: Any, indptr: Any, v: Any, y: Any) -> None:
    parts = parts_for(indices.size, y.size)
    spare = np.empty((parts - 1, y.size), y.dtype)
    for part in prange(parts):
        mine = private(y, spare, part)
        mine[:] = 0
        low, high = first_row(indptr, part, parts), first_row(indptr, part + 1, parts)
        scatter_rows(data, indices, indptr, v, mine, low, high)
    add_up(spare, y)


KERNELS = (matvec, matvec_parallel), (matvec_transposed, matvec_transposed_parallel)  # [transpose][large]


def build(*, outs: Any, transpose: bool, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays for one orientation: on one thread, or on all for many entries."""

    def call(data: Any, indices: Any, indptr: Any, v: Any) -> Any:
        kernel = KERNELS[transpose][reaches(indices.size, MIN_PARALLEL)]
        return numba_kernel(kernel, outs)(data, indices, indptr, v)

    return call

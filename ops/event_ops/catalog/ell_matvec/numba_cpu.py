"""ELLPACK matrix times vector on the CPU: a gather of rows, or for the transpose a scatter of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import prange

from event_ops.checks.arrays import reaches
from event_ops.kernels.numba_cpu.access import at
from event_ops.kernels.numba_cpu.ell import gather_rows_with
from event_ops.kernels.numba_cpu.gather import number_row
from event_ops.kernels.numba_cpu.jit import REORDER, njit, take_chunks_of
from event_ops.kernels.numba_cpu.prefetch import is_far, prefetch_stream, prefetch_targets
from event_ops.kernels.numba_cpu.split import MIN_PARALLEL, add_up, chunks, parts_for, private
from ffi_bridge import numba_kernel

gather_rows = gather_rows_with(number_row)


@njit(fastmath=REORDER)
def scatter_rows(data: Any, indices: Any, v: Any, y: Any, low: int, high: int) -> None:
    """y[indices[i, k]] += data[i, k] * v[i], for the rows from `low` to `high`."""
    per_row, columns = np.uintp(indices.shape[1]), np.uintp(y.size)
    values, targets = data.reshape(-1), indices.reshape(-1)
    streamed, far, asked = is_far(indices), is_far(y), np.uintp(low) * per_row
    for i in range(np.uintp(low), np.uintp(high)):
        start, end = i * per_row, (i + np.uintp(1)) * per_row
        if streamed:
            asked = prefetch_stream(values, targets, asked, end)
        if far:
            prefetch_targets(y, targets, start, end)
        value = v[i]
        for k in range(start, end):
            j = np.uintp(targets[k])
            if j < columns:
                y[j] += at(values, k) * value


@njit
def matvec(data: Any, indices: Any, v: Any, y: Any) -> None:
    gather_rows(data, indices, v, y, 0, y.size)


@njit(parallel=True)
def matvec_parallel(data: Any, indices: Any, v: Any, y: Any) -> None:
    parts = chunks()
    take_chunks_of(1)
    for part in prange(parts):
        gather_rows(data, indices, v, y, y.size * part // parts, y.size * (part + 1) // parts)
    take_chunks_of(0)


@njit
def matvec_transposed(data: Any, indices: Any, v: Any, y: Any) -> None:
    y[:] = 0
    scatter_rows(data, indices, v, y, 0, v.size)


@njit(parallel=True)
def matvec_transposed_parallel(data: Any, indices: Any, v: Any, y: Any) -> None:
    parts = parts_for(data.size, y.size)
    spare = np.empty((parts - 1, y.size), y.dtype)
    for part in prange(parts):
        mine = private(y, spare, part)
        mine[:] = 0
        scatter_rows(data, indices, v, mine, v.size * part // parts, v.size * (part + 1) // parts)
    add_up(spare, y)


KERNELS = (matvec, matvec_parallel), (matvec_transposed, matvec_transposed_parallel)  # [transpose][large]


def build(*, outs: Any, transpose: bool, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays for one orientation: on one thread, or on all for many entries."""

    def call(data: Any, indices: Any, v: Any) -> Any:
        kernel = KERNELS[transpose][reaches(indices.size, MIN_PARALLEL)]
        return numba_kernel(kernel, outs)(data, indices, v)

    return call

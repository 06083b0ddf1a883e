"""The current through gap junctions on the CPU: a gather of rows, each beside its own potential."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import prange

from event_ops.checks.arrays import reaches
from event_ops.kernels.numba_cpu.access import hoist
from event_ops.kernels.numba_cpu.gather import row_sum_with
from event_ops.kernels.numba_cpu.jit import njit, take_chunks_of
from event_ops.kernels.numba_cpu.prefetch import is_far, is_far_to_read, prefetch_stream, prefetch_targets
from event_ops.kernels.numba_cpu.split import MIN_PARALLEL, chunks, first_row
from ffi_bridge import numba_kernel


@njit(_nrt=False, forceinline=True)
def above_own(seen: Any, j: Any) -> Any:
    """Return v[j] - v[i] of (v, v[i])."""
    v, own = seen
    return v[j] - own


row_sum = row_sum_with(operator.mul, above_own)


@njit
def gap_rows(data: Any, indices: Any, indptr: Any, v: Any, y: Any, low: int, high: int) -> None:
    """y[i] = sum of weight k * (v[indices[k]] - v[i]) over row i, for the rows from `low` to `high`."""
    weights, nse, zero = hoist(data), np.uintp(indices.size), y.dtype.type(0)
    neurons, streamed, far = np.uintp(v.size), is_far(indices), is_far_to_read(v)
    asked = min(np.uintp(indptr[low]), nse)
    for i in range(np.uintp(low), np.uintp(high)):
        begin, end = min(np.uintp(indptr[i]), nse), min(np.uintp(indptr[i + np.uintp(1)]), nse)
        if streamed:
            asked = prefetch_stream(weights, indices, asked, end)
        if far:
            prefetch_targets(v, indices, begin, end)
        y[i] = row_sum(weights, indices, (v, v[i]), neurons, begin, end, zero)


@njit
def gap_current(data: Any, indices: Any, indptr: Any, v: Any, y: Any) -> None:
    gap_rows(data, indices, indptr, v, y, 0, indptr.size - 1)


@njit(parallel=True)
def gap_current_parallel(data: Any, indices: Any, indptr: Any, v: Any, y: Any) -> None:
    parts = chunks()
    take_chunks_of(1)
    for part in prange(parts):
        low, high = first_row(indptr, part, parts), first_row(indptr, part + 1, parts)
        gap_rows(data, indices, indptr, v, y, low, high)
    take_chunks_of(0)


def build(*, outs: Any, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays: on one thread, or on all for many entries."""

    def call(data: Any, indices: Any, indptr: Any, v: Any) -> Any:
        kernel = gap_current_parallel if reaches(indices.size, MIN_PARALLEL) else gap_current
        return numba_kernel(kernel, outs)(data, indices, indptr, v)

    return call

"""Scaling the rows of a CSR matrix on a GPU: a thread per entry, which looks for its row."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numba import cuda

from event_ops.parts.numba_cuda.access import row_of_entry, search_range
from event_ops.parts.numba_cuda.threads import BLOCK, blocks_of
from ffi_bridge import numba_cuda_kernel

STEPS = 16  # entries that a thread takes in turn; their rows are searched together


@cuda.jit(device=True)
def by_number(data: Any, k: Any, x: Any, i: Any) -> Any:
    """Return data[k] * x[i]."""
    return data[k] * x[i]


@cuda.jit(device=True)
def by_event(data: Any, k: Any, x: Any, i: Any) -> Any:
    """Return data[k], which is only read where x[i] is True, or 0."""
    return data[k] if x[i] else data.dtype.type(0)


@cache
def scale_rows_with(scaled: Any) -> Any:
    """Return the kernel out[k] = scaled(data, k, x, row of k)."""

    @cuda.jit
    def scale_rows(data: Any, indptr: Any, x: Any, out: Any) -> None:
        first = cuda.blockIdx.x * (BLOCK * STEPS)
        end = min(first + BLOCK * STEPS, out.size)
        low, high = search_range(indptr, first, end)
        for k in range(first + cuda.threadIdx.x, end, BLOCK):
            i = row_of_entry(indptr, k, low, high)
            place = np.uint64(k)
            out[place] = scaled(data, place, x, np.uint64(i)) if i >= 0 else out.dtype.type(0)

    return scale_rows


def build(*, outs: Any, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays."""
    grid = blocks_of(outs.size, BLOCK * STEPS)

    def call(data: Any, indptr: Any, x: Any) -> Any:
        kernel = scale_rows_with(by_event if x.dtype == bool else by_number)
        return numba_cuda_kernel(kernel, outs, grid=grid, block=BLOCK)(data, indptr, x)

    return call

"""The sampled dense-dense product on a GPU: a few threads per entry, and blocks of as many entries each."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from numba import cuda

from event_ops.parts.numba_cuda.access import place, row_of_entry, search_range
from event_ops.parts.numba_cuda.threads import BLOCK, blocks_of, lanes_for, sum_over
from ffi_bridge import numba_cuda_kernel

STEPS = 16  # entries that the same threads take in turn; their rows are searched together


@cuda.jit(device=True)
def of_numbers(X: Any, i: Any, Y: Any, j: Any, c: Any) -> Any:
    """Return X[i, c] * Y[j, c]."""
    return X[i, c] * Y[j, c]


@cuda.jit(device=True)
def of_event_rows(X: Any, i: Any, Y: Any, j: Any, c: Any) -> Any:
    """Return X[i, c] * Y[j, c] for X of bools; Y is only read where X is True."""
    return Y[j, c] if X[i, c] else Y.dtype.type(0)


@cuda.jit(device=True)
def of_event_columns(X: Any, i: Any, Y: Any, j: Any, c: Any) -> Any:
    """Return X[i, c] * Y[j, c] for Y of bools; X is only read where Y is True."""
    return X[i, c] if Y[j, c] else X.dtype.type(0)


@cache
def sddmm_with(product: Any, lanes: int) -> Any:
    """Return the kernel out[k] = sum over c of product(X, row of k, Y, indices[k], c), by `lanes` threads."""
    total_of, at_once = sum_over(lanes), BLOCK // lanes

    @cuda.jit
    def sddmm(indices: Any, indptr: Any, X: Any, Y: Any, out: Any) -> None:
        first, lane = cuda.blockIdx.x * (at_once * STEPS), cuda.threadIdx.x % lanes
        end = min(first + at_once * STEPS, out.size)
        low, high = search_range(indptr, first, end)
        for step in range(first, end, at_once):
            k, total = step + cuda.threadIdx.x // lanes, out.dtype.type(0)
            if k < end:
                i, j = row_of_entry(indptr, k, low, high), place(indices[k], Y.shape[0])
                if i >= 0 and j >= 0:
                    for c in range(lane, X.shape[1], lanes):
                        total += product(X, i, Y, j, c)
            total = total_of(total)  # every thread of a warp calls it
            if k < end and lane == 0:
                out[k] = total

    return sddmm


def build(*, outs: Any, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays; vectors are matrices of one column."""

    def call(indices: Any, indptr: Any, X: Any, Y: Any) -> Any:
        product = of_event_rows if X.dtype == bool else of_event_columns if Y.dtype == bool else of_numbers
        factors = [x.reshape(x.shape[0], *(x.shape[1:] or (1,))) for x in (X, Y)]
        lanes = lanes_for(factors[0].shape[1], 1, outs.dtype)
        blocks = blocks_of(outs.size, BLOCK // lanes * STEPS)
        kernel = sddmm_with(product, lanes)
        return numba_cuda_kernel(kernel, outs, grid=blocks, block=BLOCK)(indices, indptr, *factors)

    return call

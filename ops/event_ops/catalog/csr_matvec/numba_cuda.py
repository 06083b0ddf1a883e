"""CSR matrix times vector on a GPU: a few threads per row, as many as suit the mean length of rows."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from numba import cuda

from event_ops.cuda_parts.access import bounded, place
from event_ops.cuda_parts.lanes import lanes_for, sum_over
from event_ops.cuda_parts.launch import BLOCK, blocks_of, clear
from ffi_bridge import numba_cuda_callable, numba_cuda_kernel


@cache
def gather_rows_with(lanes: int) -> Any:
    """The kernel `y[i] = sum of data[k] * v[indices[k]] over row i`; `lanes` threads per row."""
    total_of = sum_over(lanes)

    @cuda.jit
    def gather_rows(data: Any, indices: Any, indptr: Any, v: Any, y: Any) -> None:
        i, lane = cuda.grid(1) // lanes, cuda.grid(1) % lanes
        total = y.dtype.type(0)
        if i < y.size:
            nse = indices.size
            for k in range(bounded(indptr[i], nse) + lane, bounded(indptr[i + 1], nse), lanes):
                j = place(indices[k], v.size)
                if j >= 0:
                    total += data[k] * v[j]
        total = total_of(total)  # every thread of a warp comes here
        if i < y.size and lane == 0:
            y[i] = total

    return gather_rows


@cache
def scatter_rows_with(lanes: int) -> Any:
    """The kernel `y[indices[k]] += data[k] * v[i]` over row i; `lanes` threads per row."""

    @cuda.jit
    def scatter_rows(data: Any, indices: Any, indptr: Any, v: Any, y: Any) -> None:
        i, lane = cuda.grid(1) // lanes, cuda.grid(1) % lanes
        if i < v.size:
            nse, value = indices.size, v[i]
            for k in range(bounded(indptr[i], nse) + lane, bounded(indptr[i + 1], nse), lanes):
                j = place(indices[k], y.size)
                if j >= 0:
                    cuda.atomic.add(y, j, data[k] * value)

    return scatter_rows


def generator(*, outs: Any, shape: tuple[int, int], transpose: bool, **_: Any) -> Callable[..., Any]:
    """The callable for one orientation; the mean length of rows decides how many threads share one."""
    rows = shape[0]

    def call(data: Any, indices: Any, indptr: Any, v: Any) -> Any:
        lanes = lanes_for(indices.size, rows, outs.dtype)
        if not transpose:
            gather = gather_rows_with(lanes)
            return numba_cuda_kernel(gather, outs, grid=blocks_of(rows * lanes), block=BLOCK)(
                data, indices, indptr, v
            )

        def scatter(data: Any, indices: Any, indptr: Any, v: Any, y: Any, stream: Any) -> None:
            clear(y, stream)
            scatter_rows_with(lanes)[blocks_of(rows * lanes), BLOCK, stream](data, indices, indptr, v, y)

        return numba_cuda_callable(scatter, outs)(data, indices, indptr, v)

    return call

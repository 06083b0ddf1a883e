"""CSR matrix times dense matrix on a GPU: neighbouring threads take neighbouring columns of B.

Where B has fewer columns than a warp has threads, several share the entries of a row, too.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from numba import cuda

from event_ops.cuda_parts.access import bounded, place
from event_ops.cuda_parts.lanes import lanes_for, sum_over
from event_ops.cuda_parts.launch import BLOCK, WARP, blocks_of, clear
from ffi_bridge import numba_cuda_callable, numba_cuda_kernel


@cache
def position_with(width: int, lanes: int) -> Any:
    """The device function that gives this thread its row, column, and lane among those of the two.

    Threads are in groups of `width * lanes`, each for one row and a tile of `width` of its columns.
    """

    @cuda.jit(device=True)
    def position(columns: Any) -> Any:
        group, thread = cuda.grid(1) // (width * lanes), cuda.grid(1) % (width * lanes)
        tiles = (columns + width - 1) // width
        return group // tiles, group % tiles * width + thread // lanes, thread % lanes

    return position


@cache
def gather_rows_with(width: int, lanes: int) -> Any:
    """The kernel `y[i, c] = sum of data[k] * B[indices[k], c] over row i`."""
    position, total_of = position_with(width, lanes), sum_over(lanes)

    @cuda.jit
    def gather_rows(data: Any, indices: Any, indptr: Any, B: Any, y: Any) -> None:
        i, c, lane = position(y.shape[1])
        is_inside, total = i < y.shape[0] and c < y.shape[1], y.dtype.type(0)
        if is_inside:
            nse = indices.size
            for k in range(bounded(indptr[i], nse) + lane, bounded(indptr[i + 1], nse), lanes):
                j = place(indices[k], B.shape[0])
                if j >= 0:
                    total += data[k] * B[j, c]
        total = total_of(total)  # every thread of a warp comes here
        if is_inside and lane == 0:
            y[i, c] = total

    return gather_rows


@cache
def scatter_rows_with(width: int, lanes: int) -> Any:
    """The kernel `y[indices[k], c] += data[k] * B[i, c]` over row i."""
    position = position_with(width, lanes)

    @cuda.jit
    def scatter_rows(data: Any, indices: Any, indptr: Any, B: Any, y: Any) -> None:
        i, c, lane = position(B.shape[1])
        if i < B.shape[0] and c < B.shape[1]:
            nse, value = indices.size, B[i, c]
            for k in range(bounded(indptr[i], nse) + lane, bounded(indptr[i + 1], nse), lanes):
                j = place(indices[k], y.shape[0])
                if j >= 0:
                    cuda.atomic.add(y, (j, c), data[k] * value)

    return scatter_rows


def generator(*, outs: Any, shape: tuple[int, int], transpose: bool, **_: Any) -> Callable[..., Any]:
    """The callable for one orientation; the columns of B, then the mean length of rows, fill a warp."""
    rows, columns = shape[0], outs.shape[1]
    width = min(WARP, 1 << max(0, columns - 1).bit_length())

    def call(data: Any, indices: Any, indptr: Any, B: Any) -> Any:
        lanes = min(WARP // width, lanes_for(indices.size, rows, outs.dtype))
        threads = rows * blocks_of(columns, width) * width * lanes
        if not transpose:
            gather = gather_rows_with(width, lanes)
            return numba_cuda_kernel(gather, outs, grid=blocks_of(threads), block=BLOCK)(
                data, indices, indptr, B
            )

        def scatter(data: Any, indices: Any, indptr: Any, B: Any, y: Any, stream: Any) -> None:
            clear(y, stream)
            scatter_rows_with(width, lanes)[blocks_of(threads), BLOCK, stream](data, indices, indptr, B, y)

        return numba_cuda_callable(scatter, outs)(data, indices, indptr, B)

    return call

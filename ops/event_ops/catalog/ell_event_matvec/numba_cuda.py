"""Event-driven ELLPACK product on a GPU: rows of the active events, or for every row its active columns."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numba
from numba import cuda

from event_ops.cuda_parts.access import at, is_active, place
from event_ops.cuda_parts.lanes import lanes_for, sum_over
from event_ops.cuda_parts.launch import BLOCK, WARP, blocks_of, clear
from ffi_bridge import numba_cuda_callable, numba_cuda_kernel

ENOUGH_BLOCKS = 1024  # to keep a GPU busy


@cache
def gather_rows_with(lanes: int) -> Any:
    """The kernel that sums, for each row, the weights whose column is active; `lanes` threads per row."""
    total_of = sum_over(lanes)

    @cuda.jit
    def gather_rows(data: Any, indices: Any, events: Any, y: Any) -> None:
        i, lane = cuda.grid(1) // lanes, cuda.grid(1) % lanes
        total = y.dtype.type(0)
        if i < y.size:
            per_row = indices.shape[1]
            for k in range(lane, per_row, lanes):
                j = place(indices[i, k], events.size)
                if j >= 0 and is_active(events[j]):
                    total += at(data, i * per_row + k) * y.dtype.type(events[j])
        total = total_of(total)  # every thread of a warp comes here
        if i < y.size and lane == 0:
            y[i] = total

    return gather_rows


@cuda.jit
def scatter_active_rows(data: Any, indices: Any, events: Any, y: Any) -> None:
    """y[j] += weight * event for the active of a block's rows, whose entries all its threads share.

    One thread per row along x; the blocks along y take the same rows, and a part of the entries of each.
    """
    active = cuda.shared.array(BLOCK, numba.int32)
    count = cuda.shared.array(1, numba.int32)
    first, thread, per_row = cuda.blockIdx.x * BLOCK, cuda.threadIdx.x, indices.shape[1]
    part = (per_row + cuda.gridDim.y - 1) // cuda.gridDim.y
    cuda.syncthreads()  # a block that takes several elements of a batch may still read those of the last
    if thread == 0:
        count[0] = 0
    cuda.syncthreads()
    if first + thread < events.size and is_active(events[first + thread]):
        active[cuda.atomic.add(count, 0, 1)] = thread
    cuda.syncthreads()
    for entry in range(thread, count[0] * part, BLOCK):
        i, k = first + active[entry // part], cuda.blockIdx.y * part + entry % part
        j = place(indices[i, k], y.size) if k < per_row else -1
        if j >= 0:
            cuda.atomic.add(y, j, at(data, i * per_row + k) * y.dtype.type(events[i]))


def generator(*, outs: Any, shape: tuple[int, int], transpose: bool, **_: Any) -> Callable[..., Any]:
    """The callable for one orientation."""
    rows = shape[0]

    def gather(data: Any, indices: Any, events: Any) -> Any:
        lanes = lanes_for(indices.size, rows, outs.dtype)
        kernel = gather_rows_with(lanes)
        return numba_cuda_kernel(kernel, outs, grid=blocks_of(rows * lanes), block=BLOCK)(
            data.reshape(-1), indices, events
        )

    def launch_scatter(data: Any, indices: Any, events: Any, y: Any, stream: Any) -> None:
        clear(y, stream)
        blocks = blocks_of(rows)
        parts = min(blocks_of(indices.shape[1], WARP), blocks_of(ENOUGH_BLOCKS, max(1, blocks)))
        scatter_active_rows[(blocks, parts), BLOCK, stream](data, indices, events, y)

    scatter = numba_cuda_callable(launch_scatter, outs)
    return (lambda data, indices, events: scatter(data.reshape(-1), indices, events)) if transpose else gather

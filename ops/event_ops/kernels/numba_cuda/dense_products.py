"""Products of a dense matrix with events on a GPU: only weights that active events meet are read.

A block notes the active events of a tile first.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numba import cuda, from_dtype

from event_ops.kernels.numba_cuda.access import is_active, stored_weights, widened
from event_ops.kernels.numba_cuda.dense_matrix_products import dense_event_matmat as dense_event_matmat
from event_ops.kernels.numba_cuda.threads import (
    BLOCK,
    FULL,
    WARP,
    blocks_of,
    clear,
    lanes_where,
    next_power_of_two,
    rank_in,
    sum_over,
)
from event_ops.kernels.numba_cuda.wide import is_aligned, make_read_several, several_of
from ffi_bridge import numba_cuda_callable, numba_cuda_kernel

GATHER_TILE = 1024  # events of a block, along the rows of the matrix
AT_ONCE = 2  # rows that a warp reads together, so that as many loads are under way
GATHER_ROWS = BLOCK // WARP * AT_ONCE  # rows of such a block
SCATTER_TILE = 64  # events of a block, down the columns: each is a row to read

total_of = sum_over(WARP)


@cache
def make_note_active(count: int) -> Any:
    """Return the device function that notes groups of `count` neighbouring events with an active one."""

    @cuda.jit(device=True)
    def note_active(events: Any, first: Any, end: Any, noted: Any, count_noted: Any) -> None:
        """noted[:count_noted[0]] = the positions, from `first`, of the groups from `first` up to `end`.

        Positions found by a warp stay side by side, so that its lanes read neighbouring weights.
        """
        rank, lane = cuda.threadIdx.y * cuda.blockDim.x + cuda.threadIdx.x, cuda.laneid
        cuda.syncthreads()  # in a large batch a block takes several elements: wait for the one before
        if rank == 0:
            count_noted[0] = 0
        cuda.syncthreads()
        # Every thread takes equally many turns, since all of a warp vote.
        for start in range(first, end, BLOCK * count):
            k, active = start + rank * count, False
            if k < end:
                for n in range(count):
                    active |= is_active(events[np.uint64(k + n)])
            lanes = lanes_where(active)
            # One atomic for a warp, by its first lane, instead of one for each group.
            place = np.int32(0)
            if lane == 0:
                place = cuda.atomic.add(count_noted, 0, cuda.popc(lanes))
            place = cuda.shfl_sync(FULL, place, 0)
            if active:
                noted[place + rank_in(lanes)] = k - first
        cuda.syncthreads()

    return note_active


note_active = make_note_active(1)


@cache
def make_gather_rows(per: int, dtype: Any) -> Any:
    """Return the kernel `y[i] += sum of weights[i, j] * events[j]`; a warp for some rows.

    Its lanes go along groups of `per` events, which a lane reads at once if one of them is active.
    """
    number, real = np.dtype(dtype).type, from_dtype(dtype)
    note_groups, read_several = make_note_active(per), make_read_several(per, number, widened)
    groups, room = GATHER_TILE // per, AT_ONCE * per

    @cuda.jit
    def gather_rows(weights: Any, events: Any, y: Any) -> None:
        noted, count = cuda.shared.array(groups, np.int32), cuda.shared.array(1, np.int32)
        tiles = (events.size + GATHER_TILE - 1) // GATHER_TILE
        first, top = cuda.blockIdx.x % tiles * GATHER_TILE, cuda.blockIdx.x // tiles * GATHER_ROWS
        note_groups(events, first, min(first + GATHER_TILE, events.size), noted, count)
        warp, lane, aligned = cuda.threadIdx.x // WARP, cuda.laneid, is_aligned(weights)
        i, totals = top + warp * AT_ONCE, cuda.local.array(AT_ONCE, real)
        read = cuda.local.array(room, real)
        for row in range(AT_ONCE):
            totals[row] = 0
        for position in range(lane, count[0], WARP):
            j = np.uint64(first + noted[position])
            for row in range(AT_ONCE):
                # Rows beyond the last read the last once more: no branch keeps the loads apart.
                read_several(weights, np.uint64(min(i + row, y.size - 1)), j, aligned, read, row * per)
            for n in range(per):
                event = number(events[j + np.uint64(n)])
                for row in range(AT_ONCE):
                    if is_active(event):
                        totals[row] += read[row * per + n] * event
        for row in range(AT_ONCE):
            total = total_of(totals[row])
            if lane == 0 and i + row < y.size:
                cuda.atomic.add(y, i + row, total)

    return gather_rows


@cuda.jit
def scatter_rows(weights: Any, events: Any, y: Any) -> None:
    """y[j] += sum of weights[i, j] * events[i]; a thread per column, or several that share the rows."""
    noted, count = cuda.shared.array(SCATTER_TILE, np.int32), cuda.shared.array(1, np.int32)
    tiles = (events.size + SCATTER_TILE - 1) // SCATTER_TILE
    first = cuda.blockIdx.x % tiles * SCATTER_TILE
    note_active(events, first, min(first + SCATTER_TILE, events.size), noted, count)
    j = cuda.blockIdx.x // tiles * cuda.blockDim.x + cuda.threadIdx.x
    if j < y.size and cuda.threadIdx.y < count[0]:
        total = y.dtype.type(0)
        for position in range(cuda.threadIdx.y, count[0], cuda.blockDim.y):
            i = np.uint64(first + noted[position])
            total += widened(weights[i, np.uint64(j)]) * y.dtype.type(events[i])
        cuda.atomic.add(y, j, total)


@cuda.jit
def gather_whole_rows(weights: Any, events: Any, y: Any) -> None:
    """y[i] = sum of weights[i, j] * events[j] in one order; a warp per row, its lanes along all events."""
    i, total = cuda.grid(1) // WARP, y.dtype.type(0)
    if i < y.size:
        for j in range(cuda.laneid, events.size, WARP):
            if is_active(events[j]):
                total += widened(weights[i, j]) * y.dtype.type(events[j])
    total = total_of(total)  # every thread of a warp calls it
    if i < y.size and cuda.laneid == 0:
        y[i] = total


@cuda.jit
def sum_whole_columns(weights: Any, events: Any, y: Any) -> None:
    """y[j] = sum of weights[i, j] * events[i] in one order; a thread per column."""
    j = cuda.grid(1)
    if j < y.size:
        total = y.dtype.type(0)
        for i in range(events.size):
            if is_active(events[i]):
                total += widened(weights[i, j]) * y.dtype.type(events[i])
        y[j] = total


def in_fixed_order(outs: Any, transpose: bool) -> Callable[..., Any]:
    """Return the function of arrays that reads all events and needs no atomics."""
    (size,) = outs.shape
    kernel, threads = (sum_whole_columns, size) if transpose else (gather_whole_rows, size * WARP)
    return numba_cuda_kernel(kernel, outs, grid=blocks_of(threads), block=BLOCK)


def dense_event_matvec(
    *, outs: Any, transpose: bool, deterministic: bool = False, **_: Any
) -> Callable[..., Any]:
    """Return the product with a vector of events for one orientation."""

    def gather(weights: Any, events: Any, y: Any, stream: Any) -> None:
        clear(y, stream)
        blocks = blocks_of(events.size, GATHER_TILE) * blocks_of(y.size, GATHER_ROWS)
        kernel = make_gather_rows(several_of(events.size, y.dtype), y.dtype)
        kernel[blocks, BLOCK, stream](weights, events, y)

    def scatter(weights: Any, events: Any, y: Any, stream: Any) -> None:
        clear(y, stream)
        across = next_power_of_two(y.size, BLOCK)
        blocks = blocks_of(events.size, SCATTER_TILE) * blocks_of(y.size, across)
        scatter_rows[blocks, (across, BLOCK // across), stream](weights, events, y)

    run = numba_cuda_callable(scatter if transpose else gather, outs)
    product = in_fixed_order(outs, transpose) if deterministic else run
    return lambda weights, events: product(stored_weights(weights, outs.dtype), events)

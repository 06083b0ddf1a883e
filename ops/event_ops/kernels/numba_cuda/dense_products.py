"""Products of a dense matrix with events on a GPU: only weights that active events meet are read.

Times a vector, a block notes the active events of a tile first. Times a matrix, blocks go through tiles of
events and weights; a block has 32 outputs of 32 vectors.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numba import cuda, from_dtype

from event_ops.kernels.numba_cuda.access import is_active
from event_ops.kernels.numba_cuda.threads import (
    BLOCK,
    FULL,
    WARP,
    WARPS,
    blocks_of,
    clear,
    lanes_where,
    next_power_of_two,
    rank_in,
    sum_over,
)
from ffi_bridge import numba_cuda_callable, numba_cuda_kernel

GATHER_TILE = 1024  # events of a block, along the rows of the matrix
AT_ONCE = 4  # rows that a warp reads together, so that as many loads are under way
GATHER_ROWS = BLOCK // WARP * AT_ONCE  # rows of such a block
SCATTER_TILE = 64  # events of a block, down the columns: each is a row to read
TILE = WARP  # events of a tile, as many as vectors and outputs of a block
PARTS = TILE // WARPS  # outputs of a thread
BLOCKS = 512  # about as many as a GPU holds at once: with fewer, several share the events

total_of = sum_over(WARP)


@cuda.jit(device=True)
def note_active(events: Any, first: Any, end: Any, noted: Any, count: Any) -> None:
    """noted[:count[0]] = the positions, from `first`, of the active events from `first` up to `end`.

    Positions found by a warp stay side by side, so that its lanes read neighbouring weights.
    """
    rank, lane = cuda.threadIdx.y * cuda.blockDim.x + cuda.threadIdx.x, cuda.laneid
    cuda.syncthreads()  # in a large batch a block takes several elements: wait for the one before
    if rank == 0:
        count[0] = 0
    cuda.syncthreads()
    # Every thread takes equally many turns, since all of a warp vote.
    for start in range(first, end, BLOCK):
        k = start + rank
        active = k < end and is_active(events[k])
        lanes = lanes_where(active)
        # One atomic for a warp, by its first lane, instead of one for each active event.
        place = np.int32(0)
        if lane == 0:
            place = cuda.atomic.add(count, 0, cuda.popc(lanes))
        place = cuda.shfl_sync(FULL, place, 0)
        if active:
            noted[place + rank_in(lanes)] = k - first
    cuda.syncthreads()


@cuda.jit
def gather_rows(weights: Any, events: Any, y: Any) -> None:
    """y[i] += sum of weights[i, j] * events[j]; a warp for some rows, its lanes along the active events."""
    noted, count = cuda.shared.array(GATHER_TILE, np.int32), cuda.shared.array(1, np.int32)
    tiles = (events.size + GATHER_TILE - 1) // GATHER_TILE
    first, top = cuda.blockIdx.x % tiles * GATHER_TILE, cuda.blockIdx.x // tiles * GATHER_ROWS
    note_active(events, first, min(first + GATHER_TILE, events.size), noted, count)
    warp, lane = cuda.threadIdx.x // WARP, cuda.laneid
    i, totals = top + warp * AT_ONCE, cuda.local.array(AT_ONCE, y.dtype)
    for row in range(AT_ONCE):
        totals[row] = 0
    for position in range(lane, count[0], WARP):
        j = np.uint64(first + noted[position])
        event = y.dtype.type(events[j])
        for row in range(AT_ONCE):
            # Rows beyond the last read the last once more: no branch keeps the loads apart.
            totals[row] += weights[np.uint64(min(i + row, y.size - 1)), j] * event
    for row in range(AT_ONCE):
        total = total_of(totals[row])
        if lane == 0 and i + row < y.size:
            cuda.atomic.add(y, i + row, total)


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
            total += weights[i, np.uint64(j)] * y.dtype.type(events[i])
        cuda.atomic.add(y, j, total)


@cuda.jit
def gather_whole_rows(weights: Any, events: Any, y: Any) -> None:
    """y[i] = sum of weights[i, j] * events[j] in one order; a warp per row, its lanes along all events."""
    i, total = cuda.grid(1) // WARP, y.dtype.type(0)
    if i < y.size:
        for j in range(cuda.laneid, events.size, WARP):
            if is_active(events[j]):
                total += weights[i, j] * y.dtype.type(events[j])
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
                total += weights[i, j] * y.dtype.type(events[i])
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
        gather_rows[blocks, BLOCK, stream](weights, events, y)

    def scatter(weights: Any, events: Any, y: Any, stream: Any) -> None:
        clear(y, stream)
        across = next_power_of_two(y.size, BLOCK)
        blocks = blocks_of(events.size, SCATTER_TILE) * blocks_of(y.size, across)
        scatter_rows[blocks, (across, BLOCK // across), stream](weights, events, y)

    run = numba_cuda_callable(scatter if transpose else gather, outs)
    product = in_fixed_order(outs, transpose) if deterministic else run
    return lambda weights, events: product(weights.astype(outs.dtype), events)


@cache
def make_add_tiles(transposed: bool, dtype: Any) -> Any:
    """Return the kernel `y[i, c] += sum of weights[i, k] * events[k, c]`, or of weights[k, i].

    A lane has a vector, and a warp every eighth output. With one block along the events it is `=`.
    """
    real = from_dtype(np.dtype(dtype))

    @cuda.jit(device=True)
    def read_events(events: Any, first: Any, c: Any, values: Any, masks: Any) -> None:
        """values[k, lane] = events[first + k, c]; masks[k] = the lanes where it is active."""
        lane, k = cuda.threadIdx.x, cuda.threadIdx.y
        while k < TILE:
            value = values.dtype.type(0)
            if first + k < events.shape[0] and c < events.shape[1]:
                value = values.dtype.type(events[np.uint64(first + k), np.uint64(c)])
            values[k, lane] = value
            lanes = lanes_where(is_active(value))
            if lane == 0:
                masks[k] = lanes
            k += WARPS

    @cuda.jit(device=True)
    def read_weights(weights: Any, first: Any, top: Any, masks: Any, tile: Any) -> None:
        """tile[k, i], or tile[i, k], = the weight of event first + k to output top + i, or 0."""
        lane, across = cuda.threadIdx.x, cuda.threadIdx.y
        while across < TILE:
            i, k = (top + lane, across) if transposed else (top + across, lane)
            row, column = (first + k, i) if transposed else (i, first + k)
            weight = tile.dtype.type(0)
            if masks[k] != 0 and row < weights.shape[0] and column < weights.shape[1]:
                weight = weights[np.uint64(row), np.uint64(column)]
            tile[across, lane] = weight
            across += WARPS

    @cuda.jit
    def add_tiles(weights: Any, events: Any, y: Any) -> None:
        values, tile = cuda.shared.array((TILE, TILE), real), cuda.shared.array((TILE, TILE), real)
        masks, totals = cuda.shared.array(TILE, np.uint32), cuda.local.array(PARTS, real)
        tiles = (y.shape[1] + TILE - 1) // TILE
        c = cuda.blockIdx.x % tiles * TILE + cuda.threadIdx.x
        top, lane, warp = cuda.blockIdx.x // tiles * TILE, cuda.threadIdx.x, cuda.threadIdx.y
        for part in range(PARTS):
            totals[part] = 0
        for first in range(cuda.blockIdx.y * TILE, events.shape[0], cuda.gridDim.y * TILE):
            read_events(events, first, c, values, masks)
            cuda.syncthreads()
            # Behind the barrier, since it skips the weights of events that no vector has active.
            read_weights(weights, first, top, masks, tile)
            cuda.syncthreads()
            for k in range(TILE):
                value = values[k, lane]
                if is_active(value):
                    for part in range(PARTS):
                        i = part * WARPS + warp
                        totals[part] += (tile[k, i] if transposed else tile[i, k]) * value
            cuda.syncthreads()
        for part in range(PARTS):
            i = top + part * WARPS + warp
            if i < y.shape[0] and c < y.shape[1]:
                # Then y has not been cleared.
                if cuda.gridDim.y == 1:
                    y[i, c] = totals[part]
                else:
                    cuda.atomic.add(y, (i, c), totals[part])

    return add_tiles


def dense_event_matmat(
    *, outs: Any, transpose: bool, deterministic: bool = False, **_: Any
) -> Callable[..., Any]:
    """Return the product with a matrix of events for one orientation."""

    def launch(weights: Any, events: Any, y: Any, stream: Any) -> None:
        blocks = blocks_of(y.shape[0], TILE) * blocks_of(y.shape[1], TILE)
        parts = 1 if deterministic else min(BLOCKS // max(1, blocks), blocks_of(events.shape[0], TILE))
        if parts > 1:
            clear(y, stream)
        grid = blocks, max(1, parts)
        make_add_tiles(transpose, y.dtype)[grid, (WARP, WARPS), stream](weights, events, y)

    product = numba_cuda_callable(launch, outs)
    return lambda weights, events: product(weights.astype(outs.dtype), events)

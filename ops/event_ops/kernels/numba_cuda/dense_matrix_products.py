"""Products of a dense matrix with a matrix of events on a GPU: only weights that active events meet are read.

Blocks go through tiles of events and weights; a block has 32 outputs of 32 vectors.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numba import cuda, from_dtype

from event_ops.kernels.numba_cuda.access import is_active
from event_ops.kernels.numba_cuda.threads import WARP, WARPS, blocks_of, clear, lanes_where
from ffi_bridge import numba_cuda_callable

TILE = WARP  # events of a tile, as many as vectors and outputs of a block
PARTS = TILE // WARPS  # outputs of a thread
BLOCKS = 512  # about as many as a GPU holds at once: with fewer, several share the events


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

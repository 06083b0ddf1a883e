"""Products of a dense matrix with a matrix of events on a GPU: only weights that active events meet are read.

Blocks go through tiles of events and weights; a block has 32 outputs of 32 vectors.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numba import cuda, from_dtype

from event_ops.kernels.numba_cuda.access import stored_weights, widened
from event_ops.kernels.numba_cuda.event_columns import active_words, term_for
from event_ops.kernels.numba_cuda.threads import BLOCK, FULL, WARP, WARPS, blocks_of, clear, lanes_where
from ffi_bridge import numba_cuda_callable

TILE = WARP  # events of a tile, as many as vectors and outputs of a block
PARTS = TILE // WARPS  # vectors of a warp
BLOCKS = 2048  # twice what a GPU holds at once: with fewer, several share the events
PADDED = TILE + 1  # so that no two rows begin in one bank
BOUNDS = BLOCK, 8


@cache
def make_add_tiles(transposed: bool, term: Any, dtype: Any) -> Any:
    """Return the kernel `y[i, c] += sum of weights[i, k] * events[k, c]`, or of weights[k, i].

    A lane has an output, and a warp every eighth vector. With one block along the events it is `=`.
    `words` say which events are active.
    """
    real = from_dtype(np.dtype(dtype))

    @cuda.jit(device=True)
    def read_weights(weights: Any, first: Any, top: Any, word: Any, read: Any) -> None:
        """read[part] = the weight of an event to an output, or 0; `word` is that of event first + lane."""
        lane, warp = cuda.laneid, cuda.threadIdx.y
        for part in range(PARTS):
            across = part * WARPS + warp
            met = word
            if transposed:
                met = np.uint32(cuda.shfl_sync(FULL, np.int32(word), across))
            row, column = (first + across, top + lane) if transposed else (top + across, first + lane)
            read[part] = 0
            if met != 0 and row < weights.shape[0] and column < weights.shape[1]:
                read[part] = widened(weights[np.uint64(row), np.uint64(column)])

    @cuda.jit(device=True)
    def word_of(words: Any, k: Any, tile: Any) -> Any:
        """Return the word of event k, or 0."""
        return words[np.uint64(k), np.uint64(tile)] if k < words.shape[0] else np.uint32(0)

    @cuda.jit(launch_bounds=BOUNDS)
    def add_tiles(weights: Any, words: Any, events: Any, y: Any) -> None:
        tile = cuda.shared.array((TILE, PADDED), real)
        totals, read = cuda.local.array(PARTS, real), cuda.local.array(PARTS, real)
        tiles, lane, warp = words.shape[1], cuda.laneid, cuda.threadIdx.y
        vectors, top = cuda.blockIdx.x % tiles, cuda.blockIdx.x // tiles * TILE
        first, step, end = cuda.blockIdx.y * TILE, cuda.gridDim.y * TILE, words.shape[0]
        for part in range(PARTS):
            totals[part] = 0
        # What the next tiles need is read before this one is added.
        now, after = word_of(words, first + lane, vectors), word_of(words, first + step + lane, vectors)
        read_weights(weights, first, top, now, read)
        while first < end:
            cuda.syncthreads()  # everybody has added the tile before
            for part in range(PARTS):
                across = part * WARPS + warp
                if transposed:
                    tile[across, lane] = read[part]
                else:
                    tile[lane, across] = read[part]
            cuda.syncthreads()
            coming = word_of(words, first + 2 * step + lane, vectors)
            read_weights(weights, first + step, top, after, read)
            for part in range(PARTS):
                bit = np.uint32(part * WARPS + warp)
                c = np.uint64(vectors * WARP + part * WARPS + warp)
                active, total = lanes_where((now >> bit) & np.uint32(1)), totals[part]
                while active != 0:
                    k = cuda.ffs(active) - 1
                    active &= active - np.uint32(1)
                    total += term(tile[k, lane], events, np.uint64(first + k), c)
                totals[part] = total
            now, after = after, coming
            first += step
        # Turned, so that lanes have neighbouring columns of y.
        cuda.syncthreads()
        for part in range(PARTS):
            tile[lane, part * WARPS + warp] = totals[part]
        cuda.syncthreads()
        c = vectors * WARP + lane
        for part in range(PARTS):
            across = part * WARPS + warp
            i = top + across
            if i < y.shape[0] and c < y.shape[1]:
                # Then y has not been cleared.
                if cuda.gridDim.y == 1:
                    y[i, c] = tile[across, lane]
                else:
                    cuda.atomic.add(y, (i, c), tile[across, lane])

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
        words = active_words(events, stream)
        kernel = make_add_tiles(transpose, term_for(events.dtype), y.dtype)
        kernel[grid, (WARP, WARPS), stream](weights, words, events, y)

    product = numba_cuda_callable(launch, outs)
    return lambda weights, events: product(stored_weights(weights, outs.dtype), events)

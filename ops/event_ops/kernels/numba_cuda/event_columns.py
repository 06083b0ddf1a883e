"""Products of matrices with a matrix of events on a GPU, of which words say where it is active.

A word has a row of 32 columns: an entry whose word is 0 costs no more than to read it.
"""

from functools import cache
from typing import Any

import numpy as np
from numba import cuda, from_dtype

from event_ops.kernels.numba_cuda.access import is_active, is_inside
from event_ops.kernels.numba_cuda.by_length import make_begin, make_take_rows, reach, within
from event_ops.kernels.numba_cuda.threads import (
    BLOCK,
    FULL,
    ROOMY,
    WARP,
    WARPS,
    blocks_of,
    lanes_where,
    sum_dtype,
    sum_over_team,
)
from event_ops.kernels.numba_cuda.tile_products import make_place_of, make_row_of, tiles_of

AHEAD = 4  # entries that a thread reads before it looks at the first
TURNS = 8  # words that a warp makes of rows that follow one another
MAX_TILES = 65535  # along the second axis of a grid


@cuda.jit
def note_active(events: Any, words: Any) -> None:
    """Set bit c of words[k, t] where events[k, 32 * t + c] is active."""
    lane, first = cuda.laneid, cuda.grid(1) // WARP * TURNS
    rows, columns = events.shape
    # A second axis of blocks, since a division would take longer than all else.
    for tile in range(cuda.blockIdx.y, words.shape[1], cuda.gridDim.y):
        c, read, word = tile * WARP + lane, np.uint32(0), np.uint32(0)
        # All is read before the first vote, so that no load waits for another.
        for turn in range(TURNS):
            event = events[np.uint64(min(first + turn, rows - 1)), np.uint64(min(c, columns - 1))]
            read |= np.uint32(is_active(event) & (c < columns)) << np.uint32(turn)
        for turn in range(TURNS):
            voted = lanes_where((read >> np.uint32(turn)) & np.uint32(1))
            if lane == turn:
                word = voted
        if lane < TURNS and first + lane < rows:
            words[np.uint64(first + lane), np.uint64(tile)] = word


def active_words(events: Any, stream: Any) -> Any:
    """Launch `note_active`, and return its words; within a function for `numba_cuda_callable`."""
    rows, columns = events.shape
    words = cuda.device_array((rows, blocks_of(columns, WARP)), np.uint32)
    if words.size:
        grid = blocks_of(rows, TURNS * WARPS), min(words.shape[1], MAX_TILES)
        note_active[grid, BLOCK, stream](events, words)
    return words


@cuda.jit(device=True)
def of_flag(weight: Any, events: Any, j: Any, c: Any) -> Any:
    """Return the weight of an active flag."""
    return weight


@cuda.jit(device=True)
def of_number(weight: Any, events: Any, j: Any, c: Any) -> Any:
    """Return weight * events[j, c]."""
    return weight * events[j, c]


def term_for(dtype: Any) -> Any:
    """Return the device function for the term of an active event."""
    return of_flag if np.dtype(dtype) == np.bool_ else of_number


@cache
def make_gather_events(lanes: int, term: Any, weight_of: Any, dtype: Any, index_dtype: Any) -> Any:
    """Return the kernel `y[i, c] = sum of weight k * events[indices[k], c] over row i`, of active events.

    A warp has 32 columns of a row, and its lanes an entry each, of which they hand round the active ones.
    """
    sums, ahead = sum_dtype(dtype), AHEAD
    number, shared, shape = sums.type, from_dtype(sums), WARPS * WARP
    index = np.int32 if np.can_cast(index_dtype, np.int32) else np.int64
    place_of, row_of, tiles = make_place_of(WARP, 1), make_row_of(WARP), tiles_of(WARP)

    def make_take(lanes: int) -> Any:
        total_of, team = sum_over_team(lanes, WARP, sums.kind), WARP * lanes
        begin = make_begin(team)

        @cuda.jit(device=True)
        def take(operands: Any, element: Any, low: Any, high: Any, thread: Any, mine: Any) -> None:
            weights, indices, words, events, y, of_warp = operands
            js, own = cuda.local.array(ahead, index), cuda.local.array(ahead, np.uint32)
            factors = cuda.local.array(ahead, shared)
            (i, c), total, size = place_of(element, thread, y.shape[1]), number(0), words.shape[0]
            if mine and low < high and size > 0:
                tile, bit = np.uint64((c - cuda.laneid) // WARP), np.uint32(cuda.laneid)
                k, near = begin(low) + thread, np.uint64(min(c, y.shape[1] - 1))
                while k - thread < high:
                    # No branch keeps loads apart: an entry that does not count reads what is near.
                    reached = reach(k, low, high)
                    for n in range(ahead):
                        js[n] = index(indices[np.uint64(k + within(n * team, reached))])
                    for n in range(ahead):
                        distance = within(n * team, reached)
                        counts = (distance == n * team) & is_inside(js[n], size)
                        word = words[np.uint64(js[n] if counts else 0), tile]
                        own[n] = word if counts else np.uint32(0)
                    for n in range(ahead):
                        factors[n] = number(0)
                        if own[n] != 0:
                            factors[n] = number(weight_of(weights, np.uint64(k + n * team)))
                    for n in range(ahead):
                        active = lanes_where(own[n] != 0)
                        while active != 0:
                            lane = cuda.ffs(active) - 1
                            active &= active - np.uint32(1)
                            word = np.uint32(cuda.shfl_sync(FULL, np.int32(own[n]), lane))
                            weight = cuda.shfl_sync(FULL, factors[n], lane)
                            j = cuda.shfl_sync(FULL, js[n], lane)
                            if (word >> bit) & np.uint32(1):
                                total = number(total + term(weight, events, np.uint64(j), near))
                    k += ahead * team
            total = total_of(total, of_warp)
            if mine and thread < WARP and c < y.shape[1]:
                y[np.uint64(i), np.uint64(c)] = y.dtype.type(total)

        return take

    take_tiles = make_take_rows(WARP, lanes, row_of, make_take)

    @cuda.jit(launch_bounds=ROOMY)
    def gather_events(
        data: Any, permutation: Any, indices: Any, indptr: Any, words: Any, events: Any, y: Any
    ) -> None:
        of_warp = cuda.shared.array(shape, shared)
        count = y.shape[0] * tiles(y.shape[1])
        operands = (data, permutation), indices, words, events, y, of_warp
        take_tiles(operands, (indptr, y.shape[1]), indices.size, count)

    return gather_events

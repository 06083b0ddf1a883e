"""Rows of a sparse matrix on a GPU, each taken by as many threads as suit its length, all in one launch.

The mean length decides how many threads share a row. Rows too long for these threads are noted, and taken
after the others by a warp or by the whole block. Where a row begins and ends alone decides which threads take
which of its entries, so that it is added up in the same order at every call.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import numba
import numpy as np
from numba import cuda

from event_ops.kernels.numba_cuda.access import bounded
from event_ops.kernels.numba_cuda.threads import BLOCK, WARP, WARPS, next_power_of_two

STEPS = 128  # entries of a row that a thread takes one after another at the most, before others help
SECTOR = 8  # entries that memory moves as a whole: numbers of 4 bytes in 32
# Entries of a thread: at least, where a row has no whole sector for its threads, and where it has some. On an
# H100, rows of 10 took least time with 8 threads, rows of 100 with 8, rows of 1000 with 32.
FEW, SEVERAL = 2, 12
BY_LANES, BY_WARP, BY_BLOCK = 0, 1, 2  # what takes a row: threads by the mean length, a warp, a block


def lanes_of(entries: int, rows: int, width: int = 1) -> int:
    """Return how many entries of a row are taken at once, each by `width` threads, at this mean length.

    A power of two: as many as fit in a warp and have enough entries each, or as fill a block.
    """
    length = entries // max(1, rows)
    if length > STEPS * (WARP // width):
        return BLOCK // width
    of_sector = next_power_of_two(length // FEW, SECTOR)
    return min(WARP // width, max(of_sector, 1 << max(1, length // SEVERAL).bit_length() - 1))


AHEAD = 4  # entries that a thread reads before it uses the first, so that as many loads are under way
_FAR = np.int64(1 << 30)


def ahead_of(entries: int, threads: int) -> int:
    """Return how many entries a thread reads ahead: a power of two, where it has as many on average."""
    return next_power_of_two(entries // max(1, threads), AHEAD)


@cuda.jit(device=True)
def reach(k: Any, low: Any, high: Any) -> Any:
    """Return the distances from k to the first and to the last entry from `low` up to `high`, as int32.

    They take fewer registers than the numbers of entries, which have 64 bits: loads are not kept waiting.
    """
    return np.int32(max(low - k, 0)), np.int32(min(high - 1 - k, _FAR))


@cuda.jit(device=True)
def within(distance: Any, reached: Any) -> Any:
    """Return the distance between the two of `reach` that is nearest to this one, as int32."""
    return min(max(np.int32(distance), reached[0]), reached[1])


@cache
def make_begin(lanes: int) -> Any:
    """Return the device function `begin(low)` for where `lanes` threads together begin with a row.

    That is with a whole sector of memory, maybe before `low`. All of them take equally many steps of `lanes`
    entries, maybe beyond the row: so they stay together also where the compiler unrolls the loop.
    """
    ahead = min(lanes, SECTOR)
    return cuda.jit(device=True)(lambda low: low - low % ahead)


def make_take_rows(width: int, lanes: int, row_of: Any, make_take: Callable[[int], Any]) -> Any:
    """Return the device function that distributes `count` rows; every thread of a block calls it.

    `row_of(structure, i, nse)` gives where row i begins and ends. `make_take(L)` gives the device function
    `take(operands, i, low, high, thread, mine)` for L entries at once: all `width * L` threads of row i call
    it, each with its number `thread` among them, and take the row if `mine` is true.
    """
    team, many = width * lanes, WARP // width
    take_by_lanes, take_by_warp, take_by_block = map(cache(make_take), (lanes, many, BLOCK // width))

    @cuda.jit(device=True)
    def take_rows(operands: Any, structure: Any, nse: Any, count: Any) -> None:
        noted = cuda.shared.array(BLOCK, numba.uint8)
        thread, i, by = cuda.threadIdx.x, cuda.grid(1) // team, BY_LANES
        near = min(i, count - 1)  # the last row for threads that have none
        low, high = row_of(structure, near, nse)
        if i < count and high - low > STEPS * lanes:
            by = BY_WARP if high - low <= STEPS * many else BY_BLOCK
        take_by_lanes(operands, near, low, high, thread % team, i < count and by == BY_LANES)
        # All threads agree, so that none waits below for one that has returned.
        if cuda.syncthreads_or(np.int32(by)) == 0:
            return
        # The threads of a team all write the same.
        noted[thread // team] = by
        cuda.syncthreads()
        first = cuda.blockIdx.x * (BLOCK // team)
        if lanes < many:
            for row in range(thread // WARP, BLOCK // team, WARPS):
                if noted[row] == BY_WARP:
                    low, high = row_of(structure, first + row, nse)
                    take_by_warp(operands, first + row, low, high, thread % WARP, True)
        for row in range(BLOCK // team):
            if noted[row] == BY_BLOCK:
                low, high = row_of(structure, first + row, nse)
                take_by_block(operands, first + row, low, high, thread, True)

    return take_rows


@cuda.jit
def clear_outside_rows(indptr: Any, out: Any) -> None:
    """out[k] = 0 for the entries before the first row and behind the last, which may be all."""
    begin = bounded(indptr[0], out.size)
    behind = max(begin, bounded(indptr[indptr.size - 1], out.size))
    outside = begin + out.size - behind
    for place in range(cuda.grid(1), outside, cuda.gridsize(1)):
        out[place if place < begin else place - begin + behind] = out.dtype.type(0)


CLEARING = 64  # blocks: there is seldom anything outside of rows


def clear_outside(indptr: Any, out: Any, stream: Any) -> None:
    """Launch `clear_outside_rows`; within a function for `numba_cuda_callable`."""
    clear_outside_rows[CLEARING, BLOCK, stream](indptr, out)

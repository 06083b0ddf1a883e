"""Threads of a GPU: how many are launched, and what a warp or a block finds out together."""

from functools import cache
from typing import Any

import numpy as np
from numba import cuda

BLOCK = 256  # threads in a block
WARP = 32
WARPS = BLOCK // WARP
FULL = 0xFFFFFFFF  # every lane of a warp

# Launch bounds: so many threads in a block, and blocks that a multiprocessor can hold at once.
OCCUPIED = BLOCK, 6  # leaves 40 registers to a thread
ROOMY = BLOCK, 5  # leaves 48


def blocks_of(threads: int, block: int = BLOCK) -> int:
    """Return how many blocks hold `threads` threads."""
    return -(-threads // block)


def next_power_of_two(count: int, most: int) -> int:
    """Return the least power of two >= `count`, at most `most`, which is a power of two."""
    return min(most, 1 << max(0, count - 1).bit_length())


@cuda.jit
def fill(y: Any, value: Any) -> None:
    """y[:] = value for a flat y."""
    i = cuda.grid(1)
    if i < y.size:
        y[i] = value


def clear(y: Any, stream: Any) -> None:
    """Launch `y = 0`; within a function for `numba_cuda_callable`."""
    if y.size:
        fill[blocks_of(y.size), BLOCK, stream](y.ravel(), 0)


ENTRIES_PER_LANE = 4  # fewer leave threads idle, more leave memory accesses apart


def lanes_for(entries: int, rows: int, dtype: Any) -> int:
    """Return how many threads share a row of this mean length: a power of two; 1 without shuffles."""
    kind = np.dtype(dtype)
    if kind.kind in "cu" or kind.itemsize < 4:
        return 1
    return next_power_of_two(entries // max(1, rows * ENTRIES_PER_LANE), WARP)


# CUDA's votes are int32, and arithmetic widens them to int64, where the bit of lane 31 would fill the upper
# half. So votes are taken here alone, and cast to uint32.


@cuda.jit(device=True)
def lanes_where(condition: Any) -> Any:
    """Return the lanes of the warp whose `condition` is true, as bits of a uint32; every lane calls it."""
    return np.uint32(cuda.ballot_sync(FULL, condition))


@cuda.jit(device=True)
def lanes_alike(value: Any) -> Any:
    """Return the lanes with the int32 `value` of this one, as bits of a uint32; every lane calls it."""
    return np.uint32(cuda.match_any_sync(FULL, value))


@cuda.jit(device=True)
def rank_in(lanes: Any) -> Any:
    """Return how many of `lanes`, bits of a uint32, are before this one."""
    return np.int32(cuda.popc(lanes & np.uint32((1 << cuda.laneid) - 1)))


@cache
def make_sum_up_to(number: Any) -> Any:
    """Return the device function for the sum of an integer over all lanes up to this one; all lanes call it.

    Sums are of the type `number`, int32 or int64.
    """

    @cuda.jit(device=True)
    def sum_up_to(value: Any) -> Any:
        # The scan of Hillis and Steele: distances double, so that five shuffles do for 32 lanes.
        total, offset = number(value), 1
        while offset < WARP:
            before = cuda.shfl_up_sync(FULL, total, offset)
            if cuda.laneid >= offset:
                total = number(total + before)
            offset *= 2
        return total

    return sum_up_to


sum_up_to = make_sum_up_to(np.int32)


@cache
def make_sum_before(warps: int, number: Any) -> Any:
    """Return `f(value, of_warp)`, which gives a thread the sum before it, and that of its block.

    All threads of a block of so many warps call it; `of_warp` is in shared memory, a number for each warp.
    Sums are of the type `number`, int32 or int64.
    """
    sum_up_to = make_sum_up_to(number)

    @cuda.jit(device=True)
    def sum_before(value: Any, of_warp: Any) -> Any:
        warp, lane = cuda.threadIdx.x // WARP, cuda.laneid
        up_to = sum_up_to(value)
        cuda.syncthreads()  # everybody has read the sums of the last call
        if lane == WARP - 1:
            of_warp[warp] = up_to
        cuda.syncthreads()
        sums = sum_up_to(of_warp[lane] if lane < warps else number(0))
        total = cuda.shfl_sync(FULL, sums, warps - 1)
        earlier = cuda.shfl_sync(FULL, sums, max(warp - 1, 0))
        return number(up_to - value + (earlier if warp else number(0))), total

    return sum_before


def sum_dtype(dtype: Any) -> Any:
    """Return the dtype to add up in: shuffles take no unsigned or short integers, which wrap round anyway."""
    kind = np.dtype(dtype)
    return np.dtype(f"i{max(4, kind.itemsize)}") if kind.kind in "iu" else kind


@cuda.jit(device=True)
def number_across(value: Any, distance: Any) -> Any:
    """Return the real number of the lane at this distance."""
    return cuda.shfl_xor_sync(FULL, value, distance)


@cuda.jit(device=True)
def complex_across(value: Any, distance: Any) -> Any:
    """Return the complex number of the lane at this distance."""
    real, imag = value.real, value.imag
    return complex(cuda.shfl_xor_sync(FULL, real, distance), cuda.shfl_xor_sync(FULL, imag, distance))


@cuda.jit(device=True)
def number_from(lanes: Any, value: Any, lane: Any) -> Any:
    """Return the real number of a lane; all of `lanes`, bits of a uint32, call it."""
    return cuda.shfl_sync(lanes, value, lane)


@cuda.jit(device=True)
def complex_from(lanes: Any, value: Any, lane: Any) -> Any:
    """Return the complex number of a lane; all of `lanes`, bits of a uint32, call it."""
    real, imag = value.real, value.imag
    return complex(cuda.shfl_sync(lanes, real, lane), cuda.shfl_sync(lanes, imag, lane))


def from_lane_for(dtype: Any) -> Any:
    """Return the device function `f(lanes, value, lane)` for numbers that are added up as this dtype is."""
    return complex_from if np.dtype(dtype).kind == "c" else number_from


@cache
def sum_over(lanes: int, width: int = 1, kind: str = "f") -> Any:
    """Return the device function that gives each of `lanes` threads, `width` apart, the sum of their values.

    Every thread of a warp calls it. Values have 32 or 64 bits; `kind` is that of their NumPy dtype.
    """
    across = complex_across if kind == "c" else number_across

    if lanes == 1:
        return cuda.jit(device=True)(lambda value: value)

    @cuda.jit(device=True)
    def total_of(value: Any) -> Any:
        # A butterfly: by exchanges in pairs every lane has the sum at the end.
        distance = lanes * width // 2
        while distance >= width:
            value += across(value, distance)
            distance //= 2
        return value

    return total_of


@cache
def sum_over_team(lanes: int, width: int, kind: str) -> Any:
    """Return `f(value, of_warp)`, as `sum_over` does, also for all threads of a block that are `width` apart.

    They call it together; `of_warp`, in shared memory, has room for the sums of every warp.
    """
    total_of = sum_over(min(lanes, WARP // width), width, kind)

    if lanes * width < BLOCK:
        return cuda.jit(device=True)(lambda value, of_warp: total_of(value))

    @cuda.jit(device=True)
    def total_of_block(value: Any, of_warp: Any) -> Any:
        warp, place = cuda.threadIdx.x // WARP, cuda.threadIdx.x % width
        value = total_of(value)
        cuda.syncthreads()  # everybody has read the sums of the last call
        of_warp[warp * width + place] = value  # several lanes write the same
        cuda.syncthreads()
        value = of_warp[place]
        for other in range(1, WARPS):
            value += of_warp[other * width + place]
        return value

    return total_of_block

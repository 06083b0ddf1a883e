"""A stable radix sort, least significant digit first: every warp moves a part of the entries, in order."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numba
import numpy as np
from numba import cuda

from event_ops.kernels.numba_cuda.threads import BLOCK, WARP, WARPS, blocks_of, lanes_alike, rank_in

MAX_BITS = 8  # of a digit, for each value of which every warp has a place in shared memory
ENTRIES = 1024  # in a part; smaller parts mean more counts to add up
AHEAD = 8  # keys and values that a thread reads before it moves one; with 1, an H100 took 1.5 times as long


@cache
def count_digits_with(digits: int) -> Any:
    """Return the kernel `counts[d, part] = how many keys of the part have digit d`."""

    @cuda.jit
    def count_digits(keys: Any, shift: Any, counts: Any) -> None:
        found = cuda.shared.array((WARPS, digits), numba.int32)
        part, warp, lane = cuda.grid(1) // WARP, cuda.threadIdx.x // WARP, cuda.laneid
        for d in range(lane, digits, WARP):
            found[warp, d] = 0
        cuda.syncwarp()
        for k in range(part * ENTRIES + lane, min((part + 1) * ENTRIES, keys.size), WARP):
            cuda.atomic.add(found, (warp, keys[k] >> shift & (digits - 1)), 1)
        cuda.syncwarp()
        if part < counts.shape[1]:
            for d in range(lane, digits, WARP):
                counts[d, part] = found[warp, d]

    return count_digits


# One block per row.
@cuda.jit
def scan_rows(x: Any, totals: Any) -> None:
    """Replace every element by the sum of those before it in its row; write the sums of rows to `totals`."""
    sums = cuda.shared.array(BLOCK, numba.int64)
    i, t, size = cuda.blockIdx.x, cuda.threadIdx.x, x.shape[1]
    low, high = size * t // BLOCK, size * (t + 1) // BLOCK
    total = 0
    for p in range(low, high):
        total += x[i, p]
    sums[t] = total
    cuda.syncthreads()
    step = 1
    while step < BLOCK:
        before = sums[t - step] if t >= step else 0
        cuda.syncthreads()
        sums[t] += before
        cuda.syncthreads()
        step *= 2
    if t == BLOCK - 1:
        totals[i] = sums[t]
    running = sums[t] - total
    for p in range(low, high):
        here = x[i, p]
        x[i, p] = running
        running += here


@cache
def move_with(digits: int, places: Any) -> Any:
    """Return the kernel that sorts keys and values by one digit, and keeps the order of equals.

    `places` is a dtype that counts all of them.
    """
    count = numba.from_dtype(places)

    @cuda.jit
    def move(
        keys: Any, values: Any, shift: Any, starts: Any, bases: Any, keys_to: Any, values_to: Any
    ) -> None:
        free = cuda.shared.array((WARPS, digits), count)  # where the next key of each digit goes
        read, held = cuda.local.array(AHEAD, keys.dtype), cuda.local.array(AHEAD, values.dtype)
        part, warp, lane = cuda.grid(1) // WARP, cuda.threadIdx.x // WARP, cuda.laneid
        if part < starts.shape[1]:
            for d in range(lane, digits, WARP):
                free[warp, d] = bases[0, d] + starts[d, part]
        cuda.syncwarp()
        for first in range(part * ENTRIES, min((part + 1) * ENTRIES, keys.size), WARP * AHEAD):
            for turn in range(AHEAD):
                k = np.uint64(min(first + turn * WARP + lane, keys.size - 1))
                read[turn], held[turn] = keys[k], values[k]
            for turn in range(AHEAD):
                k, digit, p = first + turn * WARP + lane, np.int32(digits), 0
                if k < keys.size:
                    digit = np.int32(read[turn] >> shift & (digits - 1))
                same = lanes_alike(digit)
                if k < keys.size:
                    p = free[warp, digit] + rank_in(same)
                    keys_to[np.uint64(p)], values_to[np.uint64(p)] = read[turn], held[turn]
                cuda.syncwarp()
                if k < keys.size and same >> lane == 1:  # the last of them
                    free[warp, digit] = p + 1
                cuda.syncwarp()

    return move


def passes_of(bits: int) -> int:
    """Return how often entries are moved to sort them by keys of so many bits."""
    return -(-bits // MAX_BITS)


def radix_sort(buffers: Sequence[tuple[Any, Any]], bits: int, stream: Any) -> None:
    """Launch a sort of `buffers[passes_of(bits) % 2]`, keys from 0 and values, that ends in `buffers[0]`.

    Call it within a function for `numba_cuda_callable`. The other of the two buffers is scratch.
    """
    passes = passes_of(bits)
    width = -(-bits // max(1, passes))
    parts = blocks_of(buffers[0][0].size, ENTRIES)
    counts = cuda.device_array((1 << width, parts), dtype=buffers[0][1].dtype)
    bases = cuda.device_array((1, 1 << width), dtype=np.int64)
    whole = cuda.device_array(1, dtype=np.int64)
    blocks = blocks_of(parts, WARPS)
    for done in range(passes):
        left = passes - done
        (keys, values), to = buffers[left % 2], buffers[(left - 1) % 2]
        count_digits_with(1 << width)[blocks, BLOCK, stream](keys, width * done, counts)
        scan_rows[1 << width, BLOCK, stream](counts, bases.reshape(-1))
        scan_rows[1, BLOCK, stream](bases, whole)
        move = move_with(1 << width, counts.dtype)
        move[blocks, BLOCK, stream](keys, values, width * done, counts, bases, *to)

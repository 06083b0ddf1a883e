"""Encodings of events on a GPU: a thread has a word of 32 events, which its warp reads or writes together.

Or it has half of a word, by one wide access.

To list ids, warps pack and count the spikes of their parts, then store the ids. The counts say where the ids
of a part begin: each block sums those of the parts before its own, so that no block waits for another and no
third launch is needed.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import numba
import numpy as np
from numba import cuda

from event_ops.kernels.numba_cuda.access import is_active
from event_ops.kernels.numba_cuda.threads import (
    BLOCK,
    FULL,
    WARP,
    WARPS,
    blocks_of,
    lanes_where,
    sum_over,
    sum_over_team,
    sum_up_to,
)
from event_ops.kernels.numba_cuda.wide import elements_of, is_aligned, wide_load, wide_store
from ffi_bridge import numba_cuda_callable, numba_cuda_kernel

MAX_PARTS = 2048  # warps: enough to use all of the memory's bandwidth, few enough to sum up their counts
AT_ONCE = 4  # words that a warp reads together: more would leave a GPU idle where there are few neurons


@cache
def make_packed_word(turns: int) -> Any:
    """Return the device function for words of bits, of which a warp reads `turns` in a row: 32 at most."""

    @cuda.jit(device=True)
    def packed_word(events: Any, first: Any, lane: Any) -> Any:
        """Return the events from 32 * (first + lane) on as bits: 0 behind the last, or in lanes >= turns."""
        bits, begin = np.uint32(0), first * WARP
        if begin < events.size:
            # In turn k the warp reads 32 neighbours, its word k; each lane keeps what it reads as bit k.
            # There is no branch, so that no load waits for another.
            read = np.uint32(0)
            for k in range(turns):
                i = begin + k * WARP + lane
                active = (i < events.size) & is_active(events[np.uint64(min(i, events.size - 1))])
                read |= np.uint32(active) << np.uint32(k)
            for k in range(turns):
                voted = lanes_where((read >> np.uint32(k)) & np.uint32(1))
                if lane == k:
                    bits = voted
        return bits

    return packed_word


HALF = elements_of(np.bool_)  # events of a word that a thread reads or writes at once


@cuda.jit(device=True)
def packed_half(events: Any, first: Any) -> Any:
    """Return the flags from `first` on as the lower half of a word: 0 behind the last."""
    bits = np.uint32(0)
    if first + HALF <= events.size and is_aligned(events):
        flags, k = wide_load(events, first, HALF), np.uint32(0)
        for flag in flags:
            bits |= np.uint32(flag) << k
            k += np.uint32(1)
    else:
        for i in range(first, min(first + HALF, events.size)):
            bits |= np.uint32(events[np.uint64(i)]) << np.uint32(i - first)
    return bits


@cuda.jit(device=True)
def flag_of(bits: Any, k: Any) -> Any:
    """Return bit k of a word as a flag."""
    return (bits >> np.uint32(k)) & np.uint32(1) != np.uint32(0)


@cuda.jit(device=True)
def four_flags(bits: Any, k: Any) -> Any:
    """Return bits k to k + 3 of a word as flags."""
    return flag_of(bits, k), flag_of(bits, k + 1), flag_of(bits, k + 2), flag_of(bits, k + 3)


@cuda.jit(device=True)
def unpack_half(bits: Any, events: Any, first: Any) -> None:
    """Write the lower half of a word to the flags from `first` on, as far as there are any."""
    if first + HALF <= events.size and is_aligned(events):
        flags = four_flags(bits, 0) + four_flags(bits, 4) + four_flags(bits, 8) + four_flags(bits, 12)
        wide_store(events, first, flags)
    else:
        for i in range(first, min(first + HALF, events.size)):
            events[np.uint64(i)] = flag_of(bits, i - first)


total_of_warp, sum_of_block = sum_over(WARP), sum_over_team(BLOCK, 1, "i")
packed_words = make_packed_word(AT_ONCE)


@cuda.jit
def pack_and_count(spikes: Any, words: Any, counts: Any, words_of_part: int) -> None:
    """Pack the spikes of a warp's part, and count them."""
    part, lane = cuda.grid(1) // WARP, cuda.grid(1) % WARP
    count = 0
    for first in range(part * words_of_part, (part + 1) * words_of_part, AT_ONCE):
        bits = packed_words(spikes, first, lane)
        count += cuda.popc(bits)
        if lane < AT_ONCE and first + lane < words.size:
            words[first + lane] = bits
    count = total_of_warp(count)
    if part < counts.size and lane == 0:
        counts[part] = count


@cuda.jit
def store_ids(
    words: Any, counts: Any, size: int, words_of_part: int, spike_ids: Any, num_spikes: Any
) -> None:
    """Write the ids of a warp's part behind the ids of all parts before it."""
    of_warp = cuda.shared.array(WARPS, numba.int32)
    part, lane, first_part = cuda.grid(1) // WARP, cuda.laneid, cuda.blockIdx.x * WARPS
    before, total = np.int32(0), np.int32(0)
    for other in range(cuda.threadIdx.x, counts.size, BLOCK):
        count = counts[other]
        total += count
        if other < first_part:
            before += count
    before, total = sum_of_block(before, of_warp), sum_of_block(total, of_warp)
    for other in range(first_part, min(part, counts.size)):
        before += counts[other]

    end = min((part + 1) * words_of_part, words.size)
    for first in range(part * words_of_part, end, WARP):
        word = first + lane
        bits = words[word] if word < end else np.uint32(0)
        count = np.int32(cuda.popc(bits))  # shuffles take signed numbers only
        place = before + sum_up_to(count) - count
        before += total_of_warp(count)
        while bits != 0 and place < spike_ids.size:
            spike_ids[place] = WARP * word + cuda.ffs(bits) - 1
            bits &= bits - np.uint32(1)
            place += 1

    for unused in range(total - total % WARP + cuda.grid(1), spike_ids.size, cuda.gridsize(1)):
        if unused >= total:  # each warp writes whole sectors of memory
            spike_ids[unused] = size
    if cuda.grid(1) == 0:
        num_spikes[()] = total


@cuda.jit
def pack_words(events: Any, words: Any) -> None:
    """Write the events as bits; two threads have a word."""
    thread = cuda.grid(1)
    bits = packed_half(events, thread * HALF)
    upper = np.uint32(cuda.shfl_down_sync(FULL, np.int32(bits), 1))  # shuffles take signed numbers only
    if thread % 2 == 0 and thread // 2 < words.size:
        words[np.uint64(thread // 2)] = bits | upper << np.uint32(HALF)


@cuda.jit
def unpack_words(words: Any, events: Any) -> None:
    """Write the bits as events; two threads have a word."""
    thread = cuda.grid(1)
    if thread // 2 < words.size:
        bits = words[np.uint64(thread // 2)] >> np.uint32(thread % 2 * HALF)
        unpack_half(bits, events, thread * HALF)


def pack_events(*, outs: Any, **_: Any) -> Callable[..., Any]:
    """Return the function of flags."""
    return numba_cuda_kernel(pack_words, outs, grid=blocks_of(2 * outs.size), block=BLOCK)


def unpack_events(*, outs: Any, **_: Any) -> Callable[..., Any]:
    """Return the function of words."""

    def call(words: Any) -> Any:
        return numba_cuda_kernel(unpack_words, outs, grid=blocks_of(2 * words.size), block=BLOCK)(words)

    return call


def spike_compact(*, outs: Any, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays for one capacity."""

    def compact(spikes: Any, spike_ids: Any, num_spikes: Any, stream: Any) -> None:
        size = spikes.size
        words = blocks_of(size, WARP)
        words_of_part = AT_ONCE * max(1, blocks_of(words, AT_ONCE * MAX_PARTS))
        parts = max(1, blocks_of(words, words_of_part))  # one even if there are no neurons
        packed, counts = cuda.device_array(words, np.uint32), cuda.device_array(parts, np.int32)
        launch = blocks_of(parts * WARP), BLOCK, stream
        pack_and_count[launch](spikes, packed, counts, words_of_part)
        store_ids[launch](packed, counts, size, words_of_part, spike_ids, num_spikes)

    return numba_cuda_callable(compact, outs)

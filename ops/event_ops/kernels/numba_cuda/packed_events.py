"""Events to bits and back: a warp has words in a row, or a thread half of a word, by one wide access."""

from functools import cache
from typing import Any

import numpy as np
from numba import cuda

from event_ops.kernels.numba_cuda.access import is_active
from event_ops.kernels.numba_cuda.threads import WARP, lanes_where
from event_ops.kernels.numba_cuda.wide import elements_of, is_aligned, wide_load, wide_store


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

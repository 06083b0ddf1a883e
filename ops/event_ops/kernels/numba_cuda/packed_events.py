"""Events to bits and back: a thread has a word of 32 events, a warp has 32 words in a row."""

from functools import cache
from typing import Any

import numpy as np
from numba import cuda

from event_ops.kernels.numba_cuda.access import is_active
from event_ops.kernels.numba_cuda.threads import FULL, WARP, lanes_where


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


@cuda.jit(device=True)
def unpack_word(bits: Any, events: Any, word: Any) -> None:
    """Write the bits of word `word` to the events from 32 * word on, as far as there are events."""
    lane = word % WARP
    first = (word - lane) * WARP
    for k in range(WARP):
        # The warp writes word k as 32 neighbours; a shuffle takes signed numbers only.
        shared_bits = np.uint32(cuda.shfl_sync(FULL, np.int32(bits), k))
        i = first + k * WARP + lane
        if i < events.size:
            events[i] = (shared_bits >> np.uint32(lane)) & np.uint32(1) != np.uint32(0)

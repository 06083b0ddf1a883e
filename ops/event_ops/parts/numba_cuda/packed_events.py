"""Events to bits and back: a thread has a word of 32 events, a warp has 32 words in a row."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import cuda

from event_ops.parts.numba_cuda.access import is_active
from event_ops.parts.numba_cuda.threads import FULL, WARP, lanes_where


@cuda.jit(device=True)
def packed_word(events: Any, word: Any) -> Any:
    """Return the events from 32 * word on as bits, 0 behind the last; a warp has 32 words in a row."""
    lane = word % WARP
    first = (word - lane) * WARP  # event of the warp
    bits = np.uint32(0)
    if first < events.size:
        # In turn k the warp reads 32 neighbours, the word of lane k; each lane keeps what it reads as bit k.
        # There is no branch, so that no load waits for another.
        read = np.uint32(0)
        for k in range(WARP):
            i = first + k * WARP + lane
            active = (i < events.size) & is_active(events[min(i, events.size - 1)])
            read |= np.uint32(active) << np.uint32(k)
        for k in range(WARP):
            found = lanes_where((read >> np.uint32(k)) & np.uint32(1))
            if lane == k:
                bits = found
    return bits


@cuda.jit(device=True)
def unpack_word(bits: Any, events: Any, word: Any) -> None:
    """Write the bits of word `word` to the events from 32 * word on, as far as there are events."""
    lane = word % WARP
    first = (word - lane) * WARP
    for k in range(WARP):
        # The warp writes word k as 32 neighbours; a shuffle takes signed numbers only.
        found = np.uint32(cuda.shfl_sync(FULL, np.int32(bits), k))
        i = first + k * WARP + lane
        if i < events.size:
            events[i] = (found >> np.uint32(lane)) & np.uint32(1) != np.uint32(0)

"""Compacting spikes on a GPU: warps pack and count the spikes of their parts, then store the ids.

The counts say where the ids of a part begin: each warp sums those of the parts before its own, so that no
block waits for another and no third launch is needed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import cuda

from event_ops.parts.numba_cuda.packed_events import packed_word
from event_ops.parts.numba_cuda.threads import BLOCK, WARP, blocks_of, sum_over, sum_up_to
from ffi_bridge import numba_cuda_callable

MAX_PARTS = 2048  # warps: enough to use all of the memory's bandwidth, few enough to sum up their counts

total_of_warp = sum_over(WARP)


@cuda.jit
def pack_and_count(spikes: Any, words: Any, counts: Any, words_of_part: int) -> None:
    part, lane = cuda.grid(1) // WARP, cuda.grid(1) % WARP
    count = 0
    for first in range(part * words_of_part, (part + 1) * words_of_part, WARP):
        bits = packed_word(spikes, first + lane)
        count += cuda.popc(bits)
        if first + lane < words.size:
            words[first + lane] = bits
    count = total_of_warp(count)
    if part < counts.size and lane == 0:
        counts[part] = count


@cuda.jit
def store_ids(
    words: Any, counts: Any, size: int, words_of_part: int, spike_ids: Any, num_spikes: Any
) -> None:
    part, lane = cuda.grid(1) // WARP, cuda.grid(1) % WARP
    before, total = 0, 0
    for other in range(lane, counts.size, WARP):
        count = counts[other]
        total += count
        if other < part:
            before += count
    before, total = total_of_warp(before), total_of_warp(total)

    for first in range(part * words_of_part, min((part + 1) * words_of_part, words.size), WARP):
        word = first + lane
        bits = words[word] if word < words.size else np.uint32(0)
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


def build(*, outs: Any, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays for one capacity."""

    def compact(spikes: Any, spike_ids: Any, num_spikes: Any, stream: Any) -> None:
        size = spikes.size
        words = blocks_of(size, WARP)
        words_of_part = WARP * max(1, blocks_of(words, WARP * MAX_PARTS))
        parts = max(1, blocks_of(words, words_of_part))  # one even if there are no neurons
        packed, counts = cuda.device_array(words, np.uint32), cuda.device_array(parts, np.int32)
        launch = blocks_of(parts * WARP), BLOCK, stream
        pack_and_count[launch](spikes, packed, counts, words_of_part)
        store_ids[launch](packed, counts, size, words_of_part, spike_ids, num_spikes)

    return numba_cuda_callable(compact, outs)

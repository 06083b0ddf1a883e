"""Encodings of events on the CPU: flags as bits and back, and flags as ids; 64 neurons at a time.

Listing ids takes a few microseconds. Of many neurons it is shared all the same, by threads that have the
neurons which they also step: to read what another processor wrote, and to write there again in the next step,
takes several times as long.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import prange

from event_ops.checks.arrays import reaches
from event_ops.kernels.numba_cpu.events import active_ids
from event_ops.kernels.numba_cpu.jit import njit, num_threads, one_and_all
from event_ops.kernels.numba_cpu.packed_events import pack_into, unpack_into
from event_ops.kernels.numba_cpu.split import by_size
from ffi_bridge import numba_kernel

MIN_PARALLEL = 1 << 15  # neurons


@njit
def lists_of(size: Any, parts: Any, spike_ids: Any) -> Any:
    """Return room for the ids of each of `parts` parts of the neurons, and for how many there are."""
    room = min(spike_ids.size, -(-size // parts))
    return np.empty((parts, room), np.int32), np.empty(parts, np.uintp)


@njit
def list_part(flags: Any, first: Any, ids: Any) -> Any:
    """Write the ids of the flags that are set, from `first` on, as many as fit; return how many there are."""
    count = active_ids(flags, ids)
    for position in range(min(count, np.uintp(ids.size))):
        ids[position] += np.int32(first)
    return count


@njit
def joined(lists: Any, lengths: Any, spike_ids: Any) -> Any:
    """Write the first lengths[part] ids of every list, list by list; return how many there are."""
    count = np.uintp(0)
    for part in range(lengths.size):
        room = np.uintp(spike_ids.size) - min(count, np.uintp(spike_ids.size))
        for position in range(min(lengths[part], room)):
            spike_ids[count + position] = lists[part, position]
        count += lengths[part]
    return count


@njit
def finish(count: Any, size: Any, spike_ids: Any, num_spikes: Any) -> None:
    """Write the padding behind the first `count` ids, and the number of spikes."""
    for position in range(count, np.uintp(spike_ids.size)):
        spike_ids[position] = size
    num_spikes[()] = count


@njit
def pack_words(events: Any, words: Any) -> None:
    """Write the events as bits."""
    pack_into(events, words.view(np.uint8))


@one_and_all
def COMPACT(large: bool) -> Any:
    """Return the function that lists the ids of spikes, of which each thread lists a part."""

    def compact(spikes: Any, spike_ids: Any, num_spikes: Any) -> None:
        if large:
            parts = num_threads()
            lists, lengths = lists_of(spikes.size, parts, spike_ids)
            # Into separate lists: nobody knows yet how many ids come before those of a thread.
            for part in prange(parts):
                low, high = spikes.size * part // parts, spikes.size * (part + 1) // parts
                lengths[part] = list_part(spikes[low:high], low, lists[part])
            count = joined(lists, lengths, spike_ids)
        else:
            count = active_ids(spikes, spike_ids)
        finish(count, spikes.size, spike_ids, num_spikes)

    return compact


def pack_events(*, outs: Any, **_: Any) -> Callable[..., Any]:
    """Return the function of flags."""
    return numba_kernel(pack_words, outs)


def unpack_events(*, outs: Any, **_: Any) -> Callable[..., Any]:
    """Return the function of words."""
    return numba_kernel(unpack_into, outs)


spike_compact = by_size(COMPACT, lambda spikes: reaches(spikes.size, MIN_PARALLEL))

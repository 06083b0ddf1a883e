"""Encodings of events, event by event."""

import numpy as np


def pack_events(events):
    words = [0] * -(-len(events) // 32)
    for i, event in enumerate(events):
        words[i // 32] += bool(event) << i % 32
    return np.array(words, np.uint32)


def unpack_events(words, n):
    return np.array([int(words[i // 32]) // 2 ** (i % 32) % 2 == 1 for i in range(n)], bool)


def spike_compact(spikes, *, capacity=None):
    ids = [i for i, spike in enumerate(spikes) if spike]
    capacity = len(spikes) if capacity is None else capacity
    padding = [len(spikes)] * capacity
    return np.array((ids + padding)[:capacity], np.int32), np.int32(len(ids))

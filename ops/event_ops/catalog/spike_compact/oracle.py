import numpy as np


def spike_compact(spikes, *, capacity=None):
    found = [i for i, spike in enumerate(spikes) if spike]
    capacity = len(spikes) if capacity is None else capacity
    padding = [len(spikes)] * capacity
    return np.array((found + padding)[:capacity], np.int32), np.int32(len(found))

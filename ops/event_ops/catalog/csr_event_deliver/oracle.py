import numpy as np

from event_ops.kernels.oracle import csr_entries, weights_of, wide


def csr_event_deliver(buffer, data, indices, indptr, delays, spikes, slot, *, shape):
    weights, steps = weights_of(data, indices), np.broadcast_to(delays, np.shape(indices))
    y = wide(buffer).copy()
    slots = len(y)
    for i, j, k in csr_entries(indices, indptr, shape):
        if spikes[i] and 0 <= steps[k] < slots:
            y[(int(slot) + int(steps[k])) % slots, j] += weights[k] * float(spikes[i])
    return y

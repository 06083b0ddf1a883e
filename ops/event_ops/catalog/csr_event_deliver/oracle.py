import numpy as np

from event_ops.parts.oracle import wide


def csr_event_deliver(buffer, data, indices, indptr, delays, spikes, slot, *, shape):
    weights = np.broadcast_to(wide(data), np.shape(indices))
    steps = np.broadcast_to(delays, np.shape(indices))
    y = wide(buffer).copy()
    slots = len(y)
    for i in range(shape[0]):
        if spikes[i]:
            for k in range(int(indptr[i]), int(indptr[i + 1])):
                j, delay = int(indices[k]), int(steps[k])
                if 0 <= j < shape[1] and 0 <= delay < slots:
                    y[(int(slot) + delay) % slots, j] += weights[k] * float(spikes[i])
    return y

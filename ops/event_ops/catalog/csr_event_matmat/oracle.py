import numpy as np

from event_ops.parts.oracle import wide


def csr_event_matmat(data, indices, indptr, events, *, shape, transpose=False):
    weights = np.broadcast_to(wide(data), np.shape(indices))
    Y = np.zeros((shape[1] if transpose else shape[0], events.shape[1]), weights.dtype)
    for i in range(shape[0]):
        for k in range(int(indptr[i]), int(indptr[i + 1])):
            j = int(indices[k])
            if 0 <= j < shape[1]:
                target, source = (j, i) if transpose else (i, j)
                active = events[source] != 0
                Y[target, active] += weights[k] * events[source, active].astype(weights.dtype)
    return Y

import numpy as np

from event_ops.kernels.oracle import csr_entries, weights_of


def csr_event_matmat(data, indices, indptr, events, permutation=None, *, shape, transpose=False):
    weights = weights_of(data, indices, permutation)
    Y = np.zeros((shape[1] if transpose else shape[0], events.shape[1]), weights.dtype)
    for i, j, k in csr_entries(indices, indptr, shape):
        target, source = (j, i) if transpose else (i, j)
        active = events[source] != 0
        Y[target, active] += weights[k] * events[source, active].astype(weights.dtype)
    return Y

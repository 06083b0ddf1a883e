import numpy as np

from event_ops.kernels.oracle import csr_entries, weights_of


def csr_todense(data, indices, indptr, *, shape):
    weights = weights_of(data, indices)
    D = np.zeros(shape, weights.dtype)
    for i, j, k in csr_entries(indices, indptr, shape):
        D[i, j] += weights[k]
    return D

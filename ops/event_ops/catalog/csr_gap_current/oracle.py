import numpy as np

from event_ops.kernels.oracle import csr_entries, weights_of, wide


def csr_gap_current(data, indices, indptr, v, *, shape):
    data, v = weights_of(data, indices), wide(v)
    y = np.zeros(shape[0], data.dtype)
    for i, j, k in csr_entries(indices, indptr, shape):
        y[i] += data[k] * (v[j] - v[i])
    return y

import numpy as np

from event_ops.kernels.oracle import csr_entries, weights_of, wide


def csr_matvec(data, indices, indptr, v, *, shape, transpose=False):
    data, v = weights_of(data, indices), wide(v)
    y = np.zeros(shape[1] if transpose else shape[0], data.dtype)
    for i, j, k in csr_entries(indices, indptr, shape):
        target, source = (j, i) if transpose else (i, j)
        y[target] += data[k] * v[source]
    return y

import numpy as np

from event_ops.kernels.oracle import csr_entries, weights_of, wide


def csr_matmat(data, indices, indptr, B, *, shape, transpose=False):
    data, B = weights_of(data, indices), wide(B)
    Y = np.zeros((shape[1] if transpose else shape[0], B.shape[1]), data.dtype)
    for i, j, k in csr_entries(indices, indptr, shape):
        target, source = (j, i) if transpose else (i, j)
        Y[target] += data[k] * B[source]
    return Y

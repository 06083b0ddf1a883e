import numpy as np

from event_ops.kernels.oracle import word_entries


def compact_matvec(entries, indptr, scale, v, *, shape, transpose=False):
    y = np.zeros(shape[1] if transpose else shape[0])
    for i, j, weight in word_entries(entries, indptr, scale, shape):
        target, source = (j, i) if transpose else (i, j)
        y[target] += weight * float(v[source])
    return y

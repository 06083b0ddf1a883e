import numpy as np

from event_ops.parts.oracle import wide


def csr_matvec(data, indices, indptr, v, *, shape, transpose=False):
    data, v = wide(data), wide(v)
    y = np.zeros(shape[1] if transpose else shape[0], data.dtype)
    for i in range(shape[0]):
        for k in range(int(indptr[i]), int(indptr[i + 1])):
            j = int(indices[k])
            if 0 <= j < shape[1]:
                target, source = (j, i) if transpose else (i, j)
                y[target] += data[k] * v[source]
    return y

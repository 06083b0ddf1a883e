import numpy as np

from event_ops.parts.oracle import wide


def csr_matmat(data, indices, indptr, B, *, shape, transpose=False):
    data, B = wide(data), wide(B)
    Y = np.zeros((shape[1] if transpose else shape[0], B.shape[1]), data.dtype)
    for i in range(shape[0]):
        for k in range(int(indptr[i]), int(indptr[i + 1])):
            j = int(indices[k])
            if 0 <= j < shape[1]:
                target, source = (j, i) if transpose else (i, j)
                Y[target] += data[k] * B[source]
    return Y

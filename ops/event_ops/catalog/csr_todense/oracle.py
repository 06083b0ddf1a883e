import numpy as np

from event_ops.parts.oracle import wide


def csr_todense(data, indices, indptr, *, shape):
    data = wide(data)
    D = np.zeros(shape, data.dtype)
    for i in range(shape[0]):
        for k in range(int(indptr[i]), int(indptr[i + 1])):
            j = int(indices[k])
            if 0 <= j < shape[1]:
                D[i, j] += data[k] if data.ndim else data
    return D

import numpy as np

from event_ops.kernels.oracle import wide


def ell_matvec(data, indices, v, *, shape, transpose=False):
    data, v = wide(data), wide(v)
    y = np.zeros(shape[1] if transpose else shape[0], data.dtype)
    for i in range(shape[0]):
        for weight, j in zip(data[i], indices[i].tolist(), strict=True):
            if 0 <= j < shape[1]:
                target, source = (j, i) if transpose else (i, j)
                y[target] += weight * v[source]
    return y

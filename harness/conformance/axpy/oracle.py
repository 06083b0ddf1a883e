import numpy as np

from event_ops.kernels.oracle import wide


def axpy(a, x, y):
    z = wide(y).copy()
    for i in range(np.size(z)):
        z[i] += wide(a) * wide(x)[i]
    return z

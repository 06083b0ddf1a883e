import numpy as np

from event_ops.kernels.oracle import weights_of


def ell_event_matvec(data, indices, events, *, shape, transpose=False):
    weights = weights_of(data, indices)
    y = np.zeros(shape[1] if transpose else shape[0], weights.dtype)
    for i in range(shape[0]):
        for weight, j in zip(weights[i], indices[i].tolist(), strict=True):
            if 0 <= j < shape[1]:
                target, source = (j, i) if transpose else (i, j)
                if events[source]:
                    y[target] += weight * float(events[source])
    return y

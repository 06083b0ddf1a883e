"""Products of an ELLPACK matrix, entry by entry."""

import numpy as np

from event_ops.kernels.oracle import weights_of, wide


def ell_matvec(data, indices, v, *, shape, transpose=False):
    weights, v = weights_of(data, indices), wide(v)
    y = np.zeros(shape[1] if transpose else shape[0], weights.dtype)
    for target, source, weight in entries(weights, indices, shape, transpose):
        y[target] += weight * v[source]
    return y


def ell_event_matvec(data, indices, events, *, shape, transpose=False):
    weights = weights_of(data, indices)
    y = np.zeros(shape[1] if transpose else shape[0], weights.dtype)
    for target, source, weight in entries(weights, indices, shape, transpose):
        if events[source]:
            y[target] += weight * float(events[source])
    return y


def entries(weights, indices, shape, transpose):
    """Yield where each entry adds, where it reads, and its weight; columns out of range are padding."""
    for i in range(shape[0]):
        for weight, j in zip(weights[i], indices[i].tolist(), strict=True):
            if 0 <= j < shape[1]:
                yield (j, i, weight) if transpose else (i, j, weight)

"""Updates of an array at places, one after the other."""

import numpy as np


def combined(combine, y, indices, updates, mode, from_end=False):
    y, indices = y.copy(), np.asarray(indices)
    updates = np.broadcast_to(updates, indices.shape + y.shape[1:])
    for at in np.ndindex(indices.shape):
        j = int(indices[at])
        j += len(y) if from_end and j < 0 else 0
        if mode == "clip" and len(y):
            j = min(max(j, 0), len(y) - 1)
        if 0 <= j < len(y):
            y[j] = combine(y[j], updates[at])
    return y


def nothing_for(how, dtype):
    if np.dtype(dtype).kind == "f":
        return np.array(-np.inf if how == "max" else np.inf, dtype)
    limits = np.iinfo(dtype)
    return np.array(limits.min if how == "max" else limits.max, dtype)

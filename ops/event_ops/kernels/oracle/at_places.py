"""Updates of an array at places, in the order of the indices."""

import numpy as np

from event_ops.kernels.oracle import wide


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


def into_target(combine):
    def oracle(target, indices, updates, *, mode="drop"):
        return combined(combine, wide(target), indices, wide(updates), mode, from_end=True)

    return oracle


def of_segments(combine, how):
    def oracle(data, segment_ids, *, num_segments, indices_are_sorted=False, mode="drop"):
        data = wide(data)
        nothing = 0 if how == "add" else nothing_for(how, data.dtype)
        y = np.full((num_segments, *data.shape[1:]), nothing, data.dtype)
        return combined(combine, y, segment_ids, data, mode)

    return oracle


scatter_add, scatter_mul = into_target(np.add), into_target(np.multiply)
scatter_min, scatter_max = into_target(np.minimum), into_target(np.maximum)
segment_sum = of_segments(np.add, "add")
segment_min, segment_max = of_segments(np.minimum, "min"), of_segments(np.maximum, "max")

import numpy as np

from event_ops.parts.oracle import wide


def scatter_add(target, indices, updates, *, mode="drop"):
    y = wide(target).copy()
    indices = np.asarray(indices)
    updates = np.broadcast_to(wide(updates), indices.shape + y.shape[1:])
    for place in np.ndindex(indices.shape):
        j = int(indices[place])
        j += len(y) if j < 0 else 0
        if mode == "clip" and len(y):
            j = min(max(j, 0), len(y) - 1)
        if 0 <= j < len(y):
            y[j] += updates[place]
    return y

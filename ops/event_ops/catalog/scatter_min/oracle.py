import numpy as np

from event_ops.kernels.oracle.at_places import combined


def scatter_min(target, indices, updates, *, mode="drop"):
    return combined(np.minimum, np.asarray(target), indices, updates, mode, from_end=True)

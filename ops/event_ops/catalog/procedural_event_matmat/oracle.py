import numpy as np

from event_ops.kernels.oracle.generated import entries, product


def procedural_event_matmat(weight, seed, events, *, prob, shape, distribution="constant", transpose=False):
    found = entries(weight, seed, prob, shape, distribution)
    Y = np.zeros((shape[1] if transpose else shape[0], events.shape[1]))
    for c, column in enumerate(events.T):
        active = [(i, j, w) for i, j, w in found if column[i if transpose else j]]
        Y[:, c] = product(active, column, shape, transpose)
    return Y

import numpy as np

from event_ops.kernels.oracle import wide


def dense_event_matvec(weights, events, *, transpose=False):
    W = wide(weights).T if transpose else wide(weights)
    y = np.zeros(W.shape[0], W.dtype)
    for j, event in enumerate(events):
        if event:
            y += W[:, j] * float(event)
    return y

"""Products of a dense matrix with events, event by event."""

import numpy as np

from event_ops.kernels.oracle import wide


def dense_event_matmat(weights, events, *, transpose=False):
    W = wide(weights).T if transpose else wide(weights)
    Y = np.zeros((W.shape[0], events.shape[1]), W.dtype)
    for j, c in np.argwhere(events):
        Y[:, c] += W[:, j] * float(events[j, c])
    return Y


def dense_event_matvec(weights, events, *, transpose=False):
    return dense_event_matmat(weights, events[:, None], transpose=transpose)[:, 0]

"""Products with a generated matrix, entry by entry."""

import numpy as np

from event_ops.kernels.oracle.generated import entries, product


def procedural_matmat(weight, seed, B, *, prob, shape, distribution="constant", transpose=False, hides=False):
    """`hides`: a 0 in B is a silent event, which hides the weights that it meets."""
    drawn, columns = entries(weight, seed, prob, shape, distribution), B.reshape(len(B), *B.shape[1:] or (1,))
    Y = np.zeros((shape[1] if transpose else shape[0], columns.shape[1]))
    for c, column in enumerate(columns.T):
        met = [(i, j, w) for i, j, w in drawn if not hides or column[i if transpose else j]]
        Y[:, c] = product(met, column, shape, transpose)
    return Y.reshape(len(Y), *B.shape[1:])


def procedural_event_matmat(weight, seed, events, **static):
    return procedural_matmat(weight, seed, events, hides=True, **static)


procedural_matvec, procedural_event_matvec = procedural_matmat, procedural_event_matmat

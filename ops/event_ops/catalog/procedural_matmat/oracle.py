import numpy as np

from event_ops.kernels.oracle.generated import entries, product


def procedural_matmat(weight, seed, B, *, prob, shape, distribution="constant", transpose=False):
    found = entries(weight, seed, prob, shape, distribution)
    Y = np.zeros((shape[1] if transpose else shape[0], B.shape[1]))
    for c, column in enumerate(B.T):
        Y[:, c] = product(found, column, shape, transpose)
    return Y

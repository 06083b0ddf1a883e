import numpy as np

from event_ops.kernels.oracle import csr_entries, wide


def csr_sddmm(indices, indptr, X, Y, *, shape):
    X, Y = (wide(x).reshape(len(x), *x.shape[1:] or (1,)) for x in (X, Y))
    out = np.zeros(np.size(indices), Y.dtype if X.dtype == bool else X.dtype)
    for i, j, k in csr_entries(indices, indptr, shape):
        met = np.ones(X.shape[1], bool)
        for events in (X[i], Y[j]):
            met &= events if events.dtype == bool else True
        out[k] = (X[i, met] * Y[j, met]).sum()
    return out

"""Products with a CSR matrix, entry by entry."""

import numpy as np

from event_ops.kernels.oracle import csr_entries, flat_events, weights_of, wide


def csr_matmat(data, indices, indptr, B, *, shape, transpose=False):
    data, B = weights_of(data, indices), wide(B)
    Y = np.zeros((shape[1] if transpose else shape[0], *B.shape[1:]), data.dtype)
    for i, j, k in csr_entries(indices, indptr, shape):
        target, source = (j, i) if transpose else (i, j)
        Y[target] += data[k] * B[source]
    return Y


csr_matvec = csr_matmat


def csr_event_matmat(data, indices, indptr, events, permutation=None, *, shape, transpose=False):
    weights = weights_of(data, indices, permutation)
    Y = np.zeros((shape[1] if transpose else shape[0], events.shape[1]), weights.dtype)
    for i, j, k in csr_entries(indices, indptr, shape):
        target, source = (j, i) if transpose else (i, j)
        active = events[source] != 0
        Y[target, active] += weights[k] * events[source, active].astype(weights.dtype)
    return Y


def csr_event_matvec(
    data, indices, indptr, events, permutation=None, *, shape, transpose=False, encoding="flags"
):
    column = np.reshape(flat_events(events, encoding, shape[not transpose]), (-1, 1))
    static = {"shape": shape, "transpose": transpose}
    return csr_event_matmat(data, indices, indptr, column, permutation, **static)[:, 0]


def csr_gap_current(data, indices, indptr, v, *, shape):
    data, v = weights_of(data, indices), wide(v)
    y = np.zeros(shape[0], data.dtype)
    for i, j, k in csr_entries(indices, indptr, shape):
        y[i] += data[k] * (v[j] - v[i])
    return y


def csr_scale_rows(data, indptr, x):
    out = np.zeros_like(wide(data))
    for i, factor in enumerate(x):
        for k in range(int(indptr[i]), int(indptr[i + 1])):
            out[k] = wide(data[k]) * wide(factor) if factor or x.dtype != bool else 0
    return out


def csr_sddmm(indices, indptr, X, Y, *, shape):
    X, Y = (wide(x).reshape(len(x), *x.shape[1:] or (1,)) for x in (X, Y))
    out = np.zeros(np.size(indices), Y.dtype if X.dtype == bool else X.dtype)
    for i, j, k in csr_entries(indices, indptr, shape):
        met = np.ones(X.shape[1], bool)
        for events in (X[i], Y[j]):
            met &= events if events.dtype == bool else True
        out[k] = (X[i, met] * Y[j, met]).sum()
    return out

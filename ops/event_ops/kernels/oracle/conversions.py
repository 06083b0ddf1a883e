"""CSR matrices as CSC and as dense arrays, entry by entry."""

import numpy as np

from event_ops.kernels.oracle import csr_entries, weights_of


def csr_tocsc(indices, indptr, *, shape):
    rows, columns = shape
    row = [rows] * len(indices)
    for i in range(rows):
        for k in range(int(indptr[i]), int(indptr[i + 1])):
            row[k] = i
    held = {j: [] for j in range(columns)}
    rest = []
    for k, j in enumerate(map(int, indices)):
        (held[j] if row[k] < rows and 0 <= j < columns else rest).append(k)
    permutation = np.array([k for ks in held.values() for k in ks] + rest, np.int32)
    csc_indptr = np.cumsum([0] + [len(ks) for ks in held.values()])
    return np.array([row[k] for k in permutation], indices.dtype), csc_indptr, permutation


def csr_todense(data, indices, indptr, *, shape):
    weights = weights_of(data, indices)
    D = np.zeros(shape, weights.dtype)
    for i, j, k in csr_entries(indices, indptr, shape):
        D[i, j] += weights[k]
    return D

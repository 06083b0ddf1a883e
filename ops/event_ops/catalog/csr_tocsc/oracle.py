import numpy as np


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

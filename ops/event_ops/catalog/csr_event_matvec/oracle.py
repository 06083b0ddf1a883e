import numpy as np

from event_ops.parts.oracle import csr_entries, weights_of


def csr_event_matvec(
    data, indices, indptr, events, permutation=None, *, shape, transpose=False, encoding="flags"
):
    weights = weights_of(data, indices, permutation)
    if encoding == "ids":
        known = [i for i in events if 0 <= i < shape[not transpose]]
        events = np.bincount(known, minlength=shape[not transpose])
    elif encoding == "bits":
        events = [int(events[i // 32]) // 2 ** (i % 32) % 2 for i in range(shape[not transpose])]
    y = np.zeros(shape[1] if transpose else shape[0], weights.dtype)
    for i, j, k in csr_entries(indices, indptr, shape):
        target, source = (j, i) if transpose else (i, j)
        if events[source]:
            y[target] += weights[k] * float(events[source])
    return y

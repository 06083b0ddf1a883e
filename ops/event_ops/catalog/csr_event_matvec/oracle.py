import numpy as np

from event_ops.kernels.oracle import csr_entries, flat_events, weights_of


def csr_event_matvec(
    data, indices, indptr, events, permutation=None, *, shape, transpose=False, encoding="flags"
):
    weights = weights_of(data, indices, permutation)
    events = flat_events(events, encoding, shape[not transpose])
    y = np.zeros(shape[1] if transpose else shape[0], weights.dtype)
    for i, j, k in csr_entries(indices, indptr, shape):
        target, source = (j, i) if transpose else (i, j)
        if events[source]:
            y[target] += weights[k] * float(events[source])
    return y

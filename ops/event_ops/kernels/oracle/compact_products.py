"""Products with a matrix of words, entry by entry."""

import numpy as np

from event_ops.kernels.oracle import flat_events, word_entries


def compact_matvec(entries, indptr, scale, v, *, shape, transpose=False):
    y = np.zeros(shape[1] if transpose else shape[0])
    for i, j, weight in word_entries(entries, indptr, scale, shape):
        target, source = (j, i) if transpose else (i, j)
        if v[source]:  # codes are finite
            y[target] += weight * float(v[source])
    return y


def compact_event_matvec(entries, indptr, scale, events, *, shape, transpose=False, encoding="flags"):
    flat = flat_events(events, encoding, shape[not transpose])
    return compact_matvec(entries, indptr, scale, flat, shape=shape, transpose=transpose)

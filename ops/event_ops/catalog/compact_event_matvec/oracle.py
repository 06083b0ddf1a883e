import numpy as np

from event_ops.kernels.oracle import flat_events, word_entries


def compact_event_matvec(entries, indptr, scale, events, *, shape, transpose=False, encoding="flags"):
    events = flat_events(events, encoding, shape[not transpose])
    y = np.zeros(shape[1] if transpose else shape[0])
    for i, j, weight in word_entries(entries, indptr, scale, shape):
        target, source = (j, i) if transpose else (i, j)
        if events[source]:
            y[target] += weight * float(events[source])
    return y

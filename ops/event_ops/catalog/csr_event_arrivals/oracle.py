import numpy as np

from event_ops.kernels.oracle import csr_entries, weights_of, wide


def csr_event_arrivals(history, data, indices, indptr, slot, *, shape, encoding="flags", initial=0):
    weights = weights_of(data, indices)
    rows, slots = shape[0], len(history)
    if encoding == "bits":
        words = np.ascontiguousarray(history).view(np.uint8)
        history = np.unpackbits(words, axis=1, bitorder="little")[:, :rows].astype(bool)
    if encoding == "ids":
        history = np.stack([np.isin(np.arange(rows), ids) for ids in history])
    y = np.zeros(shape[1], weights.dtype) + wide(initial)
    for row, j, k in csr_entries(indices, indptr, (rows * slots, shape[1])):
        i, delay = divmod(row, slots)
        event = history[(int(slot) - delay) % slots, i]
        if event:
            y[j] += weights[k] * float(event)
    return y

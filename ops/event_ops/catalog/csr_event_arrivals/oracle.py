import numpy as np

from event_ops.parts.oracle import wide


def csr_event_arrivals(history, data, indices, indptr, slot, *, shape, encoding="flags", initial=0):
    weights = np.broadcast_to(wide(data), np.shape(indices))
    rows, slots = shape[0], len(history)
    if encoding == "bits":
        words = np.ascontiguousarray(history).view(np.uint8)
        history = np.unpackbits(words, axis=1, bitorder="little")[:, :rows].astype(bool)
    if encoding == "ids":
        history = np.stack([np.isin(np.arange(rows), ids) for ids in history])
    y = np.zeros(shape[1], weights.dtype) + wide(initial)
    for i in range(rows):
        for d in range(slots):
            event = history[(int(slot) - d) % slots, i]
            if event:
                for k in range(int(indptr[i * slots + d]), int(indptr[i * slots + d + 1])):
                    if 0 <= int(indices[k]) < shape[1]:
                        y[int(indices[k])] += weights[k] * float(event)
    return y

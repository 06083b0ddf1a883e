import numpy as np

from event_ops.kernels.oracle import flat_events, wide, word_entries


def compact_event_arrivals(
    history, entries, indptr, scale, slot, *, shape, starts=None, encoding="flags", initial=0
):
    (rows, columns), slots = shape, len(history)
    parts = np.reshape(indptr, (-1, rows * slots + 1))
    width = -(-columns // len(parts))
    starts = [part * width for part in range(len(parts) + 1)] if starts is None else starts
    events = [flat_events(each, encoding, rows) for each in history]
    y = np.zeros(columns) + wide(initial)
    for part, ends in enumerate(parts):
        scales = np.repeat(np.broadcast_to(scale, rows), slots)
        for row, j, weight in word_entries(entries, ends, scales, (rows * slots, columns)):
            i, delay = divmod(row, slots)
            event, target = events[(int(slot) - delay) % slots][i], int(starts[part]) + j
            if event and target < min(columns, int(starts[part + 1])):
                y[target] += weight * float(event)
    return y

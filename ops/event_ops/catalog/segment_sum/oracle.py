import numpy as np

from event_ops.parts.oracle import wide


def segment_sum(data, segment_ids, *, num_segments, indices_are_sorted=False, mode="drop"):
    data = wide(data)
    y = np.zeros((num_segments, *data.shape[1:]), data.dtype)
    for k, i in enumerate(map(int, segment_ids)):
        if mode == "clip" and num_segments:
            i = min(max(i, 0), num_segments - 1)
        if 0 <= i < num_segments:
            y[i] += data[k]
    return y

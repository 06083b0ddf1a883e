import numpy as np


def pack_events(events):
    words = [0] * -(-len(events) // 32)
    for i, event in enumerate(events):
        words[i // 32] += bool(event) << i % 32
    return np.array(words, np.uint32)

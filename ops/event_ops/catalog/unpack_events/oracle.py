import numpy as np


def unpack_events(words, n):
    return np.array([int(words[i // 32]) // 2 ** (i % 32) % 2 == 1 for i in range(n)], bool)

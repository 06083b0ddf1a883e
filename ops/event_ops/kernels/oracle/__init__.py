"""Loops and formulas that oracles share, in NumPy alone."""

import itertools

import numpy as np


def wide(x):
    """Return `x` as an array in the widest dtype of its kind."""
    x = np.asarray(x)
    return x.astype({"f": "float64", "c": "complex128"}.get(x.dtype.kind, x.dtype))


def weights_of(data, indices, permutation=None):
    """Return one weight for each of the indices, also where `data` is one for all, or permuted."""
    weights = np.broadcast_to(wide(data), np.shape(indices))
    if permutation is None or np.shape(data) != np.shape(indices):
        return weights
    return np.array(
        [weights[k] if 0 <= k < len(weights) else 0 for k in map(int, permutation)], weights.dtype
    )


def csr_entries(indices, indptr, shape):
    """Yield row, column and place of every entry whose column is in range."""
    for i in range(shape[0]):
        for k in range(int(indptr[i]), int(indptr[i + 1])):
            if 0 <= int(indices[k]) < shape[1]:
                yield i, int(indices[k]), k


def word_entries(words, indptr, scale, shape):
    """Yield row, column and weight of every entry, a word of 32 or 16 bits, whose column is in range."""
    base, scales = 1, np.broadcast_to(scale, shape[0])
    while base < shape[1]:
        base *= 2
    parts = np.reshape(indptr, (-1, shape[0] + 1))
    width = -(-shape[1] // len(parts))
    for (part, ends), i in itertools.product(enumerate(parts), range(shape[0])):
        for word in map(int, words[int(ends[i]) : int(ends[i + 1])]):
            code, j = (1, word) if words.itemsize == 2 else divmod(word - (word >> 31 << 32), base)
            if j < width and part * width + j < shape[1]:
                yield i, part * width + j, code * float(scales[i])


def flat_events(events, encoding, size):
    """Return one flag or number for each of `size` neurons, of events in any encoding."""
    if encoding == "ids":
        return np.bincount([i for i in events if 0 <= i < size], minlength=size)
    if encoding == "bits":
        return [int(events[i // 32]) // 2 ** (i % 32) % 2 for i in range(size)]
    return events

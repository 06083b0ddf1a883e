"""Random numbers of neurons: in Python's numbers, neuron by neuron."""

import math
from statistics import NormalDist

import numpy as np

from event_ops.kernels.oracle import wide
from event_ops.kernels.oracle.generated import philox

KEYS = {"normal": int.from_bytes(b"norm"), "uniform": int.from_bytes(b"unif")}


def word(i, distribution, stream, step, seed):
    """The word of neuron i: 128 neurons share 64 counters."""
    block, place = divmod(i, 128)
    half, place = divmod(place, 64)
    return philox(stream * 2**30 + block * 64 + place, step, seed ^ KEYS[distribution])[half]


def quantile(tail):
    """The number of units of 2**-16 behind which a tail begins."""
    return round(-NormalDist().inv_cdf(tail) * 2**16)


def normal(drawn):
    """The number of a word: linear between two quantiles, 2**-7 of an octave apart."""
    negative, low = divmod(drawn, 2**31)
    tail, octave = math.frexp(float(np.float32(low | 1)))
    piece, place = divmod(int((tail * 2 - 1) * 2**19), 2**12)
    begin, end = (quantile((1 + x / 128) * 2.0 ** (octave - 33)) for x in (piece, piece + 1))
    size = np.float32((begin * 2**12 - (begin - end) * place) / 2**28)
    return -float(size) if negative else float(size)


def uniform(drawn):
    return (drawn >> 8) / 2**24


NUMBERS = {"normal": normal, "uniform": uniform}


def numbers(n, distribution, seed, step, first=0, stream=0):
    """n numbers of a distribution, of the neurons from `first` on."""
    words = [word(int(first) + i, distribution, stream, int(step) % 2**32, int(seed)) for i in range(n)]
    return np.array(list(map(NUMBERS[distribution], words)))


def normal_input(mean, std, seed, step, *, first=0, stream=0):
    n = max(np.size(x) if np.ndim(x) else 0 for x in (mean, std))
    return wide(mean) + wide(std) * numbers(n, "normal", seed, step, first, stream)


def uniform_input(low, high, seed, step, *, first=0, stream=0):
    n = max(np.size(x) if np.ndim(x) else 0 for x in (low, high))
    u = numbers(n, "uniform", seed, step, first, stream)
    return wide(low) + (wide(high) - wide(low)) * u

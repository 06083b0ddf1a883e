"""`uniform_input` as a loop over neurons."""

import numpy as np

from event_ops.kernels.oracle import wide
from event_ops.kernels.oracle.noise import numbers


def uniform_input(low, high, seed, step, *, first=0, stream=0):
    n = max(np.size(x) if np.ndim(x) else 0 for x in (low, high))
    u = numbers(n, "uniform", seed, step, first, stream)
    return wide(low) + (wide(high) - wide(low)) * u

"""`normal_input` as a loop over neurons."""

import numpy as np

from event_ops.kernels.oracle import wide
from event_ops.kernels.oracle.noise import numbers


def normal_input(mean, std, seed, step, *, first=0, stream=0):
    n = max(np.size(x) if np.ndim(x) else 0 for x in (mean, std))
    z = numbers(n, "normal", seed, step, first, stream)
    return wide(mean) + wide(std) * z

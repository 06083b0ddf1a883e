"""Philox2x32-10, a counter-based random number generator: 64 random bits as a function of (counter, key).

Source: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011, https://doi.org/10.1145/2063384.2063405
"""

from __future__ import annotations

from typing import Any

import numpy as np

ROUNDS = 10
MULTIPLIER = 0xD256D193
KEY_STEP = 0x9E3779B9

_LOW = np.uint32(0xFFFF)
_HALF = np.uint32(16)


def philox2x32(x: Any, y: Any, key: Any) -> tuple[Any, Any]:
    """Two words from the counter (x, y): uint32 arrays of NumPy or JAX; 0-d only those of JAX.

    The same words on every backend, since 32-bit integer arithmetic is all that it takes.
    """
    for _ in range(ROUNDS):
        high, low = _product(x)
        x, y = high ^ key ^ y, low
        key = key + np.uint32(KEY_STEP)
    return x, y


def _product(x: Any) -> tuple[Any, Any]:
    """The high and low words of MULTIPLIER * x; in halves, because JAX may have no 64-bit integers."""
    m_low, m_high = np.uint32(MULTIPLIER & 0xFFFF), np.uint32(MULTIPLIER >> 16)
    x_low, x_high = x & _LOW, x >> _HALF
    middle = x_high * m_low + (x_low * m_low >> _HALF)
    other = x_low * m_high + (middle & _LOW)
    return x_high * m_high + (middle >> _HALF) + (other >> _HALF), x * np.uint32(MULTIPLIER)

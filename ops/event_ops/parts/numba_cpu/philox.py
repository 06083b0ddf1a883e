"""Philox2x32-10 for Numba kernels: the words of `event_ops.parts.reference.random_numbers`."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from event_ops.parts.numba_cpu.jit import njit
from event_ops.parts.reference import random_numbers

_MULTIPLIER: Final = np.uint64(random_numbers.MULTIPLIER)
_KEY_STEP: Final = np.uint64(random_numbers.KEY_STEP)
_WORD: Final = np.uint64(0xFFFFFFFF)
_SHIFT: Final = np.uint64(32)


# In 64-bit lanes throughout: with a conversion in every round the loop over counters takes twice as long.
@njit(inline="always")
def philox2x32(x: Any, y: Any, key: Any) -> Any:
    """Two words, as uint64, from the counter (x, y)."""
    x, y, key = np.uint64(x), np.uint64(y), np.uint64(key)
    for _ in range(random_numbers.ROUNDS):
        product = (x & _WORD) * _MULTIPLIER
        x, y = (product >> _SHIFT) ^ key ^ y, product & _WORD
        key = (key + _KEY_STEP) & _WORD
    return x, y

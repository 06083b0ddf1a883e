"""Philox2x32-10 for CUDA kernels: the words of `event_ops.parts.reference.random_numbers`."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numba import cuda

from event_ops.parts.reference import random_numbers

_ROUNDS: Final = random_numbers.ROUNDS
_MULTIPLIER: Final = np.uint64(random_numbers.MULTIPLIER)
_KEY_STEP: Final = np.uint64(random_numbers.KEY_STEP)
_WORD: Final = np.uint64(0xFFFFFFFF)
_SHIFT: Final = np.uint64(32)


@cuda.jit(device=True)
def philox2x32(x: Any, y: Any, key: Any) -> Any:
    """Two words, as uint64, from the counter (x, y); x, y and key are integers in [0, 2**32)."""
    x, y, key = np.uint64(x), np.uint64(y), np.uint64(key)
    for _ in range(_ROUNDS):
        product = x * _MULTIPLIER
        x, y = (product >> _SHIFT) ^ key ^ y, product & _WORD
        key = (key + _KEY_STEP) & _WORD
    return x, y

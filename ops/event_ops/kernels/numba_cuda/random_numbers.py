"""Philox2x32-10 and lookups in alias tables for CUDA kernels: see kernels/reference/random_numbers.py."""

from functools import cache
from typing import Any, Final

import numpy as np
from numba import cuda

from event_ops.kernels.reference import random_numbers

_ROUNDS: Final = random_numbers.ROUNDS
_MULTIPLIER: Final = np.uint64(random_numbers.MULTIPLIER)
_KEY_STEP: Final = np.uint64(random_numbers.KEY_STEP)
_WORD: Final = np.uint64(0xFFFFFFFF)
_SHIFT: Final = np.uint64(32)


@cuda.jit(device=True)
def philox2x32(x: Any, y: Any, key: Any) -> Any:
    """Return two words, as uint64, for the counter (x, y); x, y and key are integers in [0, 2**32)."""
    x, y, key = np.uint64(x), np.uint64(y), np.uint64(key)
    for _ in range(_ROUNDS):
        product = x * _MULTIPLIER
        x, y = (product >> _SHIFT) ^ key ^ y, product & _WORD
        key = (key + _KEY_STEP) & _WORD
    return x, y


@cache
def outcome_with(bits: int) -> Any:
    """Return the device function that gives what a word chooses in table `which`.

    Words are uint64; tables have 2**bits slots each and follow one another.
    """
    shift, cut_bits = np.uint64(bits), np.uint64(32 - bits)
    cut, alias = np.uint64((1 << 32 - bits) - 1), np.uint64((1 << bits) - 1)

    @cuda.jit(device=True)
    def outcome(tables: Any, which: Any, word: Any) -> Any:
        slot = word >> cut_bits
        entry = np.uint64(tables[(np.uint64(which) << shift) + slot])
        return np.int32(slot if word & cut < entry >> shift else entry & alias)

    return outcome

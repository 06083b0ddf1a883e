"""Philox2x32-10 and lookups in alias tables for Numba kernels: see kernels/reference/random_numbers.py."""

from typing import Any, Final

import numpy as np

from event_ops.kernels.numba_cpu.jit import njit
from event_ops.kernels.reference import random_numbers

_MULTIPLIER: Final = np.uint64(random_numbers.MULTIPLIER)
_KEY_STEP: Final = np.uint64(random_numbers.KEY_STEP)
_WORD: Final = np.uint64(0xFFFFFFFF)
_SHIFT: Final = np.uint64(32)


# In 64 bits throughout: with a conversion in every round the loop over counters takes twice as long.
@njit(inline="always")
def philox2x32(x: Any, y: Any, key: Any) -> Any:
    """Return two words, as uint64, for the counter (x, y)."""
    x, y, key = np.uint64(x), np.uint64(y), np.uint64(key)
    for _ in range(random_numbers.ROUNDS):
        product = (x & _WORD) * _MULTIPLIER
        x, y = (product >> _SHIFT) ^ key ^ y, product & _WORD
        key = (key + _KEY_STEP) & _WORD
    return x, y


@njit(inline="always")
def place_of(first: Any, word: Any, bits: Any) -> Any:
    """Return where `word` looks in the table of 2**bits slots that begins at `first`; all uint32."""
    return first + (word >> np.uint32(np.uint32(32) - bits))


@njit(inline="always")
def outcome(entry: Any, word: Any, bits: Any) -> Any:
    """Return what `word` chooses, given the entry at its place; all uint32."""
    cut = np.uint32(np.uint32(32) - bits)
    own = np.uint32(word & np.uint32((np.uint32(1) << cut) - np.uint32(1))) < np.uint32(entry >> bits)
    alias = np.uint32(entry & np.uint32((np.uint32(1) << bits) - np.uint32(1)))
    return np.uint32(word >> cut) if own else alias


@njit(inline="always")
def chosen(table: Any, first: Any, word: Any, bits: Any) -> Any:
    """Return what `word` chooses in the table of 2**bits slots that begins at `first`; all uint32."""
    return outcome(table[np.uintp(place_of(first, word, bits))], word, bits)

"""Looking up a word in an alias table in Numba kernels: see parts/reference/random_numbers.py."""

from __future__ import annotations

from typing import Any

import numpy as np

from event_ops.parts.numba_cpu.jit import njit


@njit(inline="always")
def place_of(first: Any, word: Any, bits: Any) -> Any:
    """Where `word` looks in the table of 2**bits slots that begins at `first`; all uint32."""
    return first + (word >> np.uint32(np.uint32(32) - bits))


@njit(inline="always")
def outcome(entry: Any, word: Any, bits: Any) -> Any:
    """What `word` chooses by the entry that it finds; all uint32."""
    cut = np.uint32(np.uint32(32) - bits)
    own = np.uint32(word & np.uint32((np.uint32(1) << cut) - np.uint32(1))) < np.uint32(entry >> bits)
    alias = np.uint32(entry & np.uint32((np.uint32(1) << bits) - np.uint32(1)))
    return np.uint32(word >> cut) if own else alias


@njit(inline="always")
def chosen(table: Any, first: Any, word: Any, bits: Any) -> Any:
    """The outcome that `word` chooses in the table of 2**bits slots that begins at `first`; all uint32."""
    return outcome(table[np.uintp(place_of(first, word, bits))], word, bits)

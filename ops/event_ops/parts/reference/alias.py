"""Alias tables: a random number of any distribution from a word of 32 bits, by one lookup, in integers.

A table has 2**bits slots of equal probability. A word's top bits choose the slot; its other bits, if below
the slot's top bits, choose the outcome with the slot's number, else the one in the slot's low bits.

Source: Vose, "A linear algorithm for generating random numbers with a given distribution", IEEE Transactions
on Software Engineering 17(9), 1991, in integers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


def alias_table(counts: Sequence[int]) -> np.ndarray:
    """(2**bits,), uint32: outcome k for counts[k] of the 2**32 words; as many counts as slots."""
    bits = (len(counts) - 1).bit_length()
    left, full = list(counts), 1 << 32 - bits
    table = list(range(len(left)))
    short = [slot for slot, count in enumerate(left) if count < full]
    rich = [slot for slot, count in enumerate(left) if count >= full]
    while short:
        slot, donor = short.pop(), rich[-1]
        table[slot] = left[slot] << bits | donor
        left[donor] -= full - left[slot]
        if left[donor] < full:
            short.append(rich.pop())
    packed = np.array(table, np.uint32)
    packed.setflags(write=False)  # its makers keep it
    return packed


def outcome(table: Any, word: Any, bits: int, first: Any = 0) -> Any:
    """What a word chooses; `first` is where its table begins."""
    slot = word >> np.uint32(32 - bits)
    entry = table[first + slot]
    alias = entry & np.uint32((1 << bits) - 1)
    own = word & np.uint32((1 << 32 - bits) - 1) < entry >> np.uint32(bits)
    return alias + own.astype(np.uint32) * (slot - alias)

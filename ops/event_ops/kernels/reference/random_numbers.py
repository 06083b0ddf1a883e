"""Random numbers as functions of a counter and a key, in integers, so that every backend has the same.

Philox2x32-10 makes 64 random bits of (counter, key). An alias table makes of a word of 32 bits a random
number of any distribution, by one lookup. It has 2**bits slots of equal probability: a word's top bits choose
the slot; its other bits, if below the slot's top bits, choose the outcome with the slot's number, else the
one in the slot's low bits.

Sources: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011,
https://doi.org/10.1145/2063384.2063405; Vose, "A linear algorithm for generating random numbers with a given
distribution", IEEE Transactions on Software Engineering 17(9), 1991, in integers.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

# The constants of Philox2x32-10.
ROUNDS = 10
MULTIPLIER = 0xD256D193
KEY_STEP = 0x9E3779B9

_LOW = np.uint32(0xFFFF)
_HALF = np.uint32(16)


def philox2x32(x: Any, y: Any, key: Any) -> tuple[Any, Any]:
    """Return two words for the counter (x, y): uint32 arrays of NumPy or JAX; 0-d arrays of JAX only.

    The same words on every backend, since 32-bit integer arithmetic is all that it takes.
    """
    for _ in range(ROUNDS):
        high, low = _product(x, np.uint32(MULTIPLIER))
        x, y = high ^ key ^ y, low
        key = key + np.uint32(KEY_STEP)
    return x, y


def below(word: Any, size: Any) -> Any:
    """Return floor(word * size / 2**32), which is random in [0, size) if the word is random; all uint32."""
    return _product(word, size)[0]


def _product(x: Any, m: Any) -> tuple[Any, Any]:
    """Return the high and low words of m * x; in halves, since JAX may have no 64-bit integers."""
    m_low, m_high = m & _LOW, m >> _HALF
    x_low, x_high = x & _LOW, x >> _HALF
    middle = x_high * m_low + (x_low * m_low >> _HALF)
    other = x_low * m_high + (middle & _LOW)
    return x_high * m_high + (middle >> _HALF) + (other >> _HALF), x * m


def alias_table(counts: Sequence[int]) -> np.ndarray:
    """(2**bits,), uint32: outcome k for counts[k] of the 2**32 words; as many counts as slots."""
    bits = (len(counts) - 1).bit_length()
    left, full = list(counts), 1 << 32 - bits
    table = list(range(len(left)))
    short = [slot for slot, count in enumerate(left) if count < full]
    rich = [slot for slot, count in enumerate(left) if count >= full]
    while short:
        # A slot with too many words fills up one with too few, and may have too few itself then.
        slot, donor = short.pop(), rich[-1]
        table[slot] = left[slot] << bits | donor
        left[donor] -= full - left[slot]
        if left[donor] < full:
            short.append(rich.pop())
    packed = np.array(table, np.uint32)
    packed.setflags(write=False)  # callers keep it in a cache
    return packed


def outcome(table: Any, word: Any, bits: int, first: Any = 0) -> Any:
    """Return the outcome of a word in the table that begins at `first`."""
    slot = word >> np.uint32(32 - bits)
    entry = table[first + slot]
    alias = entry & np.uint32((1 << bits) - 1)
    is_own = word & np.uint32((1 << 32 - bits) - 1) < entry >> np.uint32(bits)
    return alias + is_own.astype(np.uint32) * (slot - alias)

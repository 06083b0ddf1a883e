"""Packed events: bit i % 32 of word i // 32 is event i."""

from __future__ import annotations

from typing import Any

import numpy as np

from event_ops.numba_parts.jit import njit

# Multiplying a word of eight 0/1 bytes by this moves byte i to bit 56 + i.
GATHER_BITS = np.uint64(0x0102040810204080)

# Flags in a word of 64 bits, of a byte each, and in one of 32 bits, of a bit each.
BYTES = np.uintp(8)
BITS = np.uintp(32)


@njit
def pack_into(flags: Any, packed: Any) -> None:
    """Write the flags as bits into the bytes `packed`, of which there are enough; 0 behind the last."""
    words = flags[: flags.size // 8 * 8].view(np.uint64)
    for word in range(np.uintp(words.size)):
        packed[word] = (words[word] * GATHER_BITS) >> np.uint64(56)
    for byte in range(np.uintp(words.size), np.uintp(packed.size)):
        packed[byte] = 0
    for i in range(np.uintp(words.size) * BYTES, np.uintp(flags.size)):
        packed[i // BYTES] |= np.uint8(flags[i]) << np.uint8(i % BYTES)


@njit
def packed_bits(flags: Any) -> Any:
    """The flags as bits of 32-bit words: few bytes to keep in cache, and gathers of 32 bits vectorise."""
    packed = np.empty((flags.size + 31) // 32 * 4, np.uint8)
    pack_into(flags, packed)
    return packed.view(np.uint32)


@njit
def unpack_into(words: Any, flags: Any) -> None:
    """Write as many flags as there are from the bits of the words, of which there are enough."""
    whole = np.uintp(flags.size) // BITS
    for w in range(whole):
        word = words[w]
        # A count that the compiler knows is what it vectorises.
        for bit in range(BITS):
            flags[w * BITS + bit] = (word >> np.uint32(bit)) & np.uint32(1) != np.uint32(0)
    for i in range(whole * BITS, np.uintp(flags.size)):
        flags[i] = (words[i // BITS] >> np.uint32(i % BITS)) & np.uint32(1) != np.uint32(0)


@njit
def set_bits(words: Any, size: Any) -> Any:
    """The ids of the bits that are set, ascending, of those in [0, size)."""
    ids, found = np.empty(np.uintp(words.size) * BITS, np.uint32), np.uintp(0)
    for w in range(np.uintp(words.size)):
        word = words[w]
        if word:
            for bit in range(BITS):
                ids[found] = w * BITS + bit
                found += np.uintp((word >> np.uint32(bit)) & np.uint32(1))
    while found > 0 and ids[found - np.uintp(1)] >= np.uint32(size):
        found -= np.uintp(1)
    return ids[:found]

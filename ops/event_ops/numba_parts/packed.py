"""Packed events: bit i % 32 of word i // 32 is event i."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types

from event_ops.numba_parts.instructions import instruction
from event_ops.numba_parts.jit import njit

# Multiplying a word of eight 0/1 bytes by this moves byte i to bit 56 + i.
GATHER_BITS = np.uint64(0x0102040810204080)

# Flags in a word of 64 bits, of a byte each, and in one of 32 bits, of a bit each.
BYTES = np.uintp(8)
BITS = np.uintp(32)

# A cache line of words of 64 bits is looked at as a whole: of most nothing is set.
WORDS_PER_LINE = np.uintp(8)


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


def _trailing_zeros(word: Any) -> Any:
    return np.uintp((int(word) & -int(word)).bit_length() - 1)


@instruction(_trailing_zeros)
def trailing_zeros(context: Any, word: Any) -> Any:
    """How many bits of an unsigned word, which is not 0, are below its lowest that is set."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        count = builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))
        return context.cast(builder, count, signature.args[0], types.uintp)

    return types.uintp(word), emit


@njit
def set_bits(words: Any, size: Any) -> Any:
    """The ids of the bits that are set, ascending, of those in [0, size)."""
    ids = np.empty(np.uintp(words.size) * BITS, np.uint32)
    return ids[: set_bits_into(words, size, ids)]


@njit(_nrt=False)
def set_bits_into(words: Any, size: Any, ids: Any) -> Any:
    """Write the ids of the bits that are set to the front of `ids`, which has room for all; how many."""
    found, wide = np.uintp(0), words[: words.size // 16 * 16].view(np.uint64)
    for block in range(np.uintp(0), np.uintp(wide.size), WORDS_PER_LINE):
        any_set = np.uint64(0)
        for w in range(block, block + WORDS_PER_LINE):
            any_set |= wide[w]
        if any_set:
            for w in range(block, block + WORDS_PER_LINE):
                found = append_bits(wide[w], w * np.uintp(64), ids, found)
    for w in range(np.uintp(wide.size) * np.uintp(2), np.uintp(words.size)):
        found = append_bits(np.uint64(words[w]), w * BITS, ids, found)
    while found > 0 and np.uintp(ids[found - np.uintp(1)]) >= np.uintp(size):
        found -= np.uintp(1)
    return found


@njit(forceinline=True)
def append_bits(word: Any, first: Any, ids: Any, found: Any) -> Any:
    """Write `first` and more, one id for each bit that is set, behind the first `found`; how many now."""
    while word:
        ids[found] = first + trailing_zeros(word)
        found += np.uintp(1)
        word &= word - np.uint64(1)
    return found

"""Packed events, where bit i % 32 of word i // 32 is event i: written from flags and read, 64 at once."""

from typing import Any, Final

import numpy as np
from llvmlite import ir
from numba import types

from event_ops.kernels.numba_cpu.jit import instruction, njit

# Flags that one instruction reads or writes.
FLAGS: Final = np.uintp(64)


def _flags_of(width: int) -> Any:
    """Return the LLVM type of 64 integers of `width` bits."""
    return ir.VectorType(ir.IntType(width), int(FLAGS))


def _trailing_zeros(word: Any) -> Any:
    return np.uintp((int(word) & -int(word)).bit_length() - 1)


@instruction(_trailing_zeros)
def trailing_zeros(context: Any, word: Any) -> Any:
    """Return how many bits are below the lowest set bit of an unsigned word, which is not 0."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        # The 1 says that the word is not 0, so that LLVM needs no test for it.
        count = builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))
        return context.cast(builder, count, signature.args[0], types.uintp)

    return types.uintp(word), emit


def _is_flat(flags: Any) -> bool:
    return isinstance(flags, types.Array) and flags.dtype == types.boolean and flags.is_c_contig


def _address(context: Any, builder: Any, array_type: Any, array: Any, i: Any) -> Any:
    """Return the address of the 64 flags from i on."""
    data = context.make_array(array_type)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [i]), _flags_of(8).as_pointer())


def _bits_at(flags: Any, i: Any) -> Any:
    return np.packbits(flags[i : i + FLAGS], bitorder="little").view(np.uint64)[0]


@instruction(_bits_at)
def bits_at(context: Any, flags: Any, i: Any) -> Any:
    """Return the 64 flags from i on as a word whose lowest bit is flag i; i + 64 <= flags.size."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        values = builder.load(_address(context, builder, signature.args[0], *arguments), align=1)
        set_ones = builder.icmp_unsigned("!=", values, ir.Constant(_flags_of(8), None))
        return builder.bitcast(set_ones, ir.IntType(int(FLAGS)))

    return (types.uint64(flags, i), emit) if _is_flat(flags) else None


def _write_bits(flags: Any, i: Any, word: Any) -> None:
    flags[i : i + FLAGS] = np.unpackbits(np.array([word]).view(np.uint8), bitorder="little")


@instruction(_write_bits)
def write_bits(context: Any, flags: Any, i: Any, word: Any) -> Any:
    """Write the bits of a word to the 64 flags from i on; i + 64 <= flags.size."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        values = builder.zext(builder.bitcast(arguments[2], _flags_of(1)), _flags_of(8))
        builder.store(values, _address(context, builder, signature.args[0], *arguments[:2]), align=1)
        return context.get_dummy_value()

    return (types.void(flags, i, types.uint64), emit) if _is_flat(flags) else None


# Bits in a byte and in a word.
BYTE = np.uintp(8)
BITS = np.uintp(32)

# Words of 64 bits are tested a cache line at a time, since most lines have no bit set.
WORDS_PER_LINE = np.uintp(8)


@njit
def pack_into(flags: Any, packed: Any) -> None:
    """Write the flags as bits into the bytes `packed`, which has room for all, and 0 behind the last."""
    whole = np.uintp(flags.size) // FLAGS * FLAGS
    words = packed[: whole // BYTE].view(np.uint64)
    for word in range(np.uintp(words.size)):
        words[word] = bits_at(flags, word * FLAGS)
    for byte in range(whole // BYTE, np.uintp(packed.size)):
        packed[byte] = 0
    for i in range(whole, np.uintp(flags.size)):
        packed[i // BYTE] |= np.uint8(flags[i]) << np.uint8(i % BYTE)


@njit
def packed_bits(flags: Any) -> Any:
    """Return the flags as bits of 32-bit words, few enough to stay in cache, and whose gathers vectorise."""
    packed = np.empty((flags.size + 31) // 32 * 4, np.uint8)
    pack_into(flags, packed)
    # Little-endian: bit i % 8 of byte i // 8 is bit i % 32 of word i // 32.
    return packed.view(np.uint32)


@njit
def unpack_into(words: Any, flags: Any) -> None:
    """Write every flag from its bit in `words`, which has a bit for each."""
    whole = np.uintp(flags.size) // FLAGS * FLAGS
    wide = words[: whole // BITS].view(np.uint64)
    for word in range(np.uintp(wide.size)):
        write_bits(flags, word * FLAGS, wide[word])
    for i in range(whole, np.uintp(flags.size)):
        flags[i] = (words[i // BITS] >> np.uint32(i % BITS)) & np.uint32(1) != np.uint32(0)


@njit
def set_bits(words: Any, size: Any) -> Any:
    """Return the ids in [0, size) whose bits are set, ascending."""
    ids = np.empty(np.uintp(words.size) * BITS, np.uint32)
    return ids[: set_bits_into(words, size, ids)]


@njit(_nrt=False)
def set_bits_into(words: Any, size: Any, ids: Any) -> Any:
    """Write the ids below `size` whose bits are set to the front of `ids`; return how many they are."""
    count, wide = np.uintp(0), words[: words.size // 16 * 16].view(np.uint64)
    for block in range(np.uintp(0), np.uintp(wide.size), WORDS_PER_LINE):
        any_set = np.uint64(0)
        for w in range(block, block + WORDS_PER_LINE):
            any_set |= wide[w]
        if any_set:
            for w in range(block, block + WORDS_PER_LINE):
                count = append_bits(wide[w], w * np.uintp(64), ids, count)
    for w in range(np.uintp(wide.size) * np.uintp(2), np.uintp(words.size)):
        count = append_bits(np.uint64(words[w]), w * BITS, ids, count)
    # Words come from outside: bits behind the last event may be set.
    while count > 0 and np.uintp(ids[count - np.uintp(1)]) >= np.uintp(size):
        count -= np.uintp(1)
    return count


@njit(forceinline=True)
def append_bits(word: Any, first: Any, ids: Any, count: Any) -> Any:
    """Write the id of every set bit, counted from `first`, behind the first `count` ids, as far as they fit.

    Return the new number of ids, with those that do not fit."""
    while word:
        if count < np.uintp(ids.size):
            ids[count] = first + trailing_zeros(word)
        count += np.uintp(1)
        word &= word - np.uint64(1)
    return count

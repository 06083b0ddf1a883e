"""Flags of a byte each, and bits of a word: 64 of them at once."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from llvmlite import ir
from numba import types

from event_ops.parts.numba_cpu.instructions import instruction

# Flags that one instruction takes.
FLAGS: Final = np.uintp(64)


def _flags_of(width: int) -> Any:
    """64 integers of so many bits."""
    return ir.VectorType(ir.IntType(width), int(FLAGS))


def _trailing_zeros(word: Any) -> Any:
    return np.uintp((int(word) & -int(word)).bit_length() - 1)


@instruction(_trailing_zeros)
def trailing_zeros(context: Any, word: Any) -> Any:
    """How many bits of an unsigned word, which is not 0, are below its lowest that is set."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        count = builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))
        return context.cast(builder, count, signature.args[0], types.uintp)

    return types.uintp(word), emit


def _is_flat(flags: Any) -> bool:
    return isinstance(flags, types.Array) and flags.dtype == types.boolean and flags.is_c_contig


def _address(context: Any, builder: Any, array_type: Any, array: Any, i: Any) -> Any:
    """Of the 64 flags from i on."""
    data = context.make_array(array_type)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [i]), _flags_of(8).as_pointer())


def _bits_at(flags: Any, i: Any) -> Any:
    return np.packbits(flags[i : i + FLAGS], bitorder="little").view(np.uint64)[0]


@instruction(_bits_at)
def bits_at(context: Any, flags: Any, i: Any) -> Any:
    """The 64 flags from i on, of which there must be as many, as a word; flag i is its lowest bit."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        values = builder.load(_address(context, builder, signature.args[0], *arguments), align=1)
        set_ones = builder.icmp_unsigned("!=", values, ir.Constant(_flags_of(8), None))
        return builder.bitcast(set_ones, ir.IntType(int(FLAGS)))

    return (types.uint64(flags, i), emit) if _is_flat(flags) else None


def _write_bits(flags: Any, i: Any, word: Any) -> None:
    flags[i : i + FLAGS] = np.unpackbits(np.array([word]).view(np.uint8), bitorder="little")


@instruction(_write_bits)
def write_bits(context: Any, flags: Any, i: Any, word: Any) -> Any:
    """Write the bits of a word to the 64 flags from i on, of which there must be as many."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        values = builder.zext(builder.bitcast(arguments[2], _flags_of(1)), _flags_of(8))
        builder.store(values, _address(context, builder, signature.args[0], *arguments[:2]), align=1)
        return context.get_dummy_value()

    return (types.void(flags, i, types.uint64), emit) if _is_flat(flags) else None

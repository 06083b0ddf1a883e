"""Philox2x32 of many counters at a time, in SIMD values.

Spelled out, so that a processor works on several registers in turn: in a loop of Numba, which vectorises for
one register at a time, each multiplication waits for the one before.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types

from event_ops.kernels.numba_cpu.jit import instruction
from event_ops.kernels.numba_cpu.simd import splat
from event_ops.kernels.reference.random_numbers import KEY_STEP, MULTIPLIER, ROUNDS
from event_ops.kernels.reference.random_numbers import philox2x32 as philox2x32_of_arrays


def words_of_counters(builder: Any, count: int, counter: Any, time: Any, key: Any) -> Any:
    """Return two words, in 64 bits each, of each of `count` counters from `counter` on."""
    wide = ir.VectorType(ir.IntType(64), count)
    like, low = ir.Constant(wide, list(range(count))), ir.Constant(wide, [0xFFFFFFFF] * count)
    multiplier, half = ir.Constant(wide, [MULTIPLIER] * count), ir.Constant(wide, [32] * count)
    x, y = builder.add(splat(builder, counter, like), like), splat(builder, time, like)
    for _ in range(ROUNDS):
        product = builder.mul(builder.and_(x, low), multiplier)
        turned = builder.xor(builder.lshr(product, half), splat(builder, key, like))
        x, y = builder.xor(turned, y), builder.and_(product, low)
        key = builder.and_(builder.add(key, key.type(KEY_STEP)), key.type(0xFFFFFFFF))
    return x, y


def _write(counter: Any, time: Any, key: Any, bits: Any, k: Any, count: Any) -> None:
    counters = (int(counter) + np.arange(int(count))).astype(np.uint32)
    pairs: Any = np.stack(philox2x32_of_arrays(counters, np.uint32(time), np.uint32(key)), axis=1)
    bits[int(k) : int(k) + int(count)] = pairs.reshape(-1).view(np.uint64)


@instruction(_write)
def write_bits(context: Any, counter: Any, time: Any, key: Any, bits: Any, k: Any, count: Any) -> Any:
    """Write 64 bits of each of `count` counters into `bits` from place k on."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[3])(context, builder, arguments[3]).data
        x, y = words_of_counters(builder, count.literal_value, *arguments[:3])
        both = builder.or_(x, builder.shl(y, ir.Constant(y.type, [32] * y.type.count)))
        pointer = builder.bitcast(builder.gep(data, [arguments[4]]), both.type.as_pointer())
        builder.store(both, pointer, align=8)
        return context.get_dummy_value()

    return types.void(counter, time, key, bits, k, count), emit

"""Uniform and normal numbers on the CPU, in blocks of neurons: see kernels/reference/noise.py."""

from collections.abc import Callable
from functools import cache
from typing import Any, Final

import numpy as np
from llvmlite import ir
from numba import types

from event_ops.kernels.numba_cpu.jit import instruction, njit
from event_ops.kernels.numba_cpu.philox import words_of_counters
from event_ops.kernels.numba_cpu.simd import splat
from event_ops.kernels.reference import noise
from event_ops.kernels.reference.random_numbers import philox2x32 as philox2x32_of_arrays

AT_ONCE: Final = np.uintp(512)  # neurons: their numbers stay in the nearest cache
ROOM: Final = AT_ONCE + np.uintp(noise.SHARE)  # the first of them is anywhere in a block
_SHARE, _BLOCK = np.uint64(noise.SHARE), np.uint64(noise.BLOCK)


# Functions, as a kernel that reads an object of LLVM from around it is not kept on disk.
def _wide() -> Any:
    return ir.VectorType(ir.IntType(64), noise.BLOCK)


def _words() -> Any:
    return ir.VectorType(ir.IntType(32), noise.BLOCK)


def _floats() -> Any:
    return ir.VectorType(ir.FloatType(), noise.BLOCK)


def _numbers(distribution: str) -> Callable[..., None]:
    """Return the function of Python that an instruction stands for, by its distribution."""

    def write(counter: Any, time: Any, key: Any, table: Any, numbers: Any, k: Any) -> None:
        counters = (int(counter) + np.arange(noise.BLOCK)).astype(np.uint32)
        words: Any = np.concatenate(philox2x32_of_arrays(counters, np.uint32(time), np.uint32(key)))
        finished = noise.normals(words, table) if distribution == "normal" else noise.uniforms(words)
        numbers[int(k) : int(k) + noise.SHARE] = finished

    return write


def _uniform(builder: Any, word: Any, data: Any) -> Any:
    """Return the uniform numbers of words."""
    top = builder.lshr(word, _all(_words(), 32 - noise.UNIFORM_BITS))
    return builder.fmul(builder.sitofp(top, _floats()), _all(_floats(), noise.UNIFORM_SCALE))


def _normal(builder: Any, word: Any, data: Any) -> Any:
    """Return the normal numbers of words, by the table at `data`."""
    tail = builder.or_(builder.and_(word, _all(_words(), 0x7FFFFFFF)), _all(_words(), 1))
    bits = builder.bitcast(builder.sitofp(tail, _floats()), _words())
    mask, octave = _all(_words(), noise.PLACE_MASK), builder.lshr(bits, _all(_words(), noise.EXPONENT_SHIFT))
    entry = _gathered(builder, data, builder.sub(octave, _all(_words(), noise.FIRST_ENTRY)))
    place = builder.and_(builder.lshr(bits, _all(_words(), noise.PLACE_SHIFT)), mask)
    fall = builder.mul(builder.and_(entry, mask), place)
    size = builder.sitofp(
        builder.sub(builder.and_(entry, _all(_words(), ~noise.PLACE_MASK)), fall), _floats()
    )
    size = builder.bitcast(builder.fmul(size, _all(_floats(), noise.NORMAL_SCALE)), _words())
    return builder.bitcast(builder.or_(size, builder.and_(word, _all(_words(), -(1 << 31)))), _floats())


def _gathered(builder: Any, data: Any, places: Any) -> Any:
    """Return the entries at places; LLVM loads them one by one where a processor gathers slowly."""
    base = splat(builder, builder.ptrtoint(data, ir.IntType(64)), places)
    addresses = builder.add(base, builder.shl(builder.zext(places, _wide()), _all(_wide(), 2)))
    pointers = builder.inttoptr(addresses, ir.VectorType(data.type, noise.BLOCK))
    chosen = ir.Constant(ir.VectorType(ir.IntType(1), noise.BLOCK), [True] * noise.BLOCK)
    arguments = pointers, ir.IntType(32)(4), chosen, ir.Constant(_words(), ir.Undefined)
    kind = ir.FunctionType(_words(), [x.type for x in arguments])
    name = f"llvm.masked.gather.v{noise.BLOCK}i32.v{noise.BLOCK}p0"
    gather = builder.module.globals.get(name) or ir.Function(builder.module, kind, name)
    return builder.call(gather, arguments)


def _all(kind: Any, value: Any) -> Any:
    return ir.Constant(kind, [value] * kind.count)


# Loops of Numba, one for the words and one for the numbers, take a third longer than SIMD values.
def _instruction(distribution: str, finish: Callable[..., Any]) -> Any:
    @instruction(_numbers(distribution))
    def write(context: Any, counter: Any, time: Any, key: Any, table: Any, numbers: Any, k: Any) -> Any:
        def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            data, target = (
                context.make_array(signature.args[x])(context, builder, arguments[x]).data for x in (3, 4)
            )
            for half, wide in enumerate(words_of_counters(builder, noise.BLOCK, *arguments[:3])):
                finished = finish(builder, builder.trunc(wide, _words()), data)
                place = builder.add(arguments[5], arguments[5].type(half * noise.BLOCK))
                pointer = builder.bitcast(builder.gep(target, [place]), _floats().as_pointer())
                # Neurons begin anywhere, so that only the alignment of a number holds.
                builder.store(finished, pointer, align=4)
            return context.get_dummy_value()

        return types.void(counter, time, key, table, numbers, k), emit

    return write


@cache
def make_draw(distribution: str, stream: int) -> Any:
    """Return the kernel that writes the numbers of neurons from `start` on, and of some around them.

    `numbers` has room for `ROOM`; those of `start` are at the place that is returned, up to `AT_ONCE` follow.
    """
    write = _instruction(distribution, {"normal": _normal, "uniform": _uniform}[distribution])
    domain, counters = np.uint64(noise.DOMAINS[distribution]), np.uint64(stream << noise.STREAM_BIT)

    @njit
    def draw(start: Any, count: Any, time: Any, seed: Any, table: Any, numbers: Any) -> Any:
        block, skipped = np.uint64(start) // _SHARE, np.uintp(start) % _SHARE
        key = np.uint64(seed) ^ domain
        for k in range(np.uint64(0), np.uint64(skipped + count), _SHARE):
            counter = counters + (block * _BLOCK + (k >> np.uint64(1)))
            write(counter, np.uint64(time), key, table, numbers, np.uintp(k))
        return skipped

    return draw

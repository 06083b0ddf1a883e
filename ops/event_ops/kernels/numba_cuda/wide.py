"""Loads and stores of a few neighbouring elements by one instruction of 128 bits.

A warp asks for 512 bytes by one, where elements of 4 bytes alone ask for 128: a stream of memory takes a
quarter of the requests, and each thread waits for four times as many bytes at once.
"""

import math
from functools import cache
from typing import Any, Final

import numpy as np
from numba import cuda
from numba.core import cgutils, types
from numba.extending import intrinsic

BYTES: Final = 16  # of the widest load
MOST: Final = 4  # elements that one instruction loads: more, which are bytes, go as words
_WORD: Final = cgutils.int32_t


def elements_of(dtype: Any) -> int:
    """Return how many elements of a dtype the widest load holds."""
    return BYTES // np.dtype(dtype).itemsize


@intrinsic(prefer_literal=True)
def wide_load(typing: Any, array: Any, i: Any, width: Any) -> Any:
    """Return elements i to i + width - 1 of a contiguous array as a tuple; `is_aligned` has to hold."""
    elements = types.UniTuple(array.dtype, width.literal_value)

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        model = context.data_model_manager[array.dtype]
        address, alignment = _address(context, builder, signature, arguments, elements)
        whole = builder.load(address, align=alignment)
        # Bools are bytes in memory and bits in registers: the model converts.
        lanes = [_element(builder, whole, k, elements.count) for k in range(elements.count)]
        return context.make_tuple(builder, elements, [model.from_data(builder, x) for x in lanes])

    return elements(array, i, width), emit


@intrinsic
def wide_store(typing: Any, array: Any, i: Any, values: Any) -> Any:
    """Store a tuple where `wide_load` would read it, each value cast to the array's dtype."""
    elements = types.UniTuple(array.dtype, len(values))

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        model = context.data_model_manager[array.dtype]
        address, alignment = _address(context, builder, signature, arguments, elements)
        whole, of_word = address.type.pointee(None), elements.count // address.type.pointee.count
        value: Any = None
        for k, x in enumerate(cgutils.unpack_tuple(builder, arguments[2])):
            number = model.as_data(builder, context.cast(builder, x, signature.args[2][k], array.dtype))
            if of_word > 1:
                number = builder.shl(builder.zext(number, _WORD), _WORD(k % of_word * number.type.width))
            value = builder.or_(value, number) if k % of_word else number
            whole = builder.insert_element(whole, value, _WORD(k // of_word))
        builder.store(whole, address, align=alignment)
        return context.get_dummy_value()

    return types.void(array, i, values), emit


@intrinsic
def is_aligned(typing: Any, array: Any) -> Any:
    """Return whether the first element of an array has an address that the widest load can begin at."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(array)(context, builder, arguments[0]).data
        address = builder.ptrtoint(data, cgutils.intp_t)
        return builder.icmp_unsigned("==", builder.and_(address, address.type(BYTES - 1)), address.type(0))

    return types.boolean(array), emit


def several_of(columns: int, dtype: Any) -> int:
    """Return how many neighbouring elements of a row are read at once, of which rows have a multiple."""
    return 1 if np.dtype(dtype).kind == "c" else math.gcd(columns, min(MOST, elements_of(dtype)))


@cuda.jit(device=True)
def alone(element: Any) -> Any:
    """Return an element that is stored as the number that it is."""
    return element


@cache
def make_read_several(count: int, number: Any, of_stored: Any = alone) -> Any:
    """Return `f(x, i, c, aligned, values, first)`: values[first + n] = x[i, c + n] for n < count.

    `aligned` is what `is_aligned` says of x, whose rows are multiples of `count` long, as c is. `of_stored`
    makes the number of an element as it is stored.
    """
    if count == 1:

        @cuda.jit(device=True)
        def read_one(x: Any, i: Any, c: Any, aligned: Any, values: Any, first: Any) -> None:
            values[first] = number(of_stored(x[i, c]))

        return read_one

    @cuda.jit(device=True)
    def read_several(x: Any, i: Any, c: Any, aligned: Any, values: Any, first: Any) -> None:
        if aligned:
            n = first
            for element in wide_load(x, i * np.uint64(x.shape[1]) + c, count):
                values[n] = number(of_stored(element))
                n += 1
        else:
            for n in range(count):
                values[first + n] = number(of_stored(x[i, c + np.uint64(n)]))

    return read_several


def _address(context: Any, builder: Any, signature: Any, arguments: Any, elements: Any) -> tuple[Any, int]:
    """Return the pointer to a vector of the elements from i on, and its alignment in bytes."""
    array = signature.args[0]
    data = context.make_array(array)(context, builder, arguments[0]).data
    start = context.cast(builder, arguments[1], signature.args[1], types.intp)
    size = elements.count * context.get_abi_sizeof(data.type.pointee)
    vector = cgutils.ir.VectorType(data.type.pointee, elements.count)
    if elements.count > MOST:
        vector = cgutils.ir.VectorType(_WORD, size // 4)
    return builder.bitcast(builder.gep(data, [start]), vector.as_pointer()), min(size, BYTES)


def _element(builder: Any, whole: Any, k: int, count: int) -> Any:
    """Return element k of `count`: part of a word where a vector of words has them."""
    of_word = count // whole.type.count
    lane = builder.extract_element(whole, _WORD(k // of_word))
    if of_word == 1:
        return lane
    byte = cgutils.ir.IntType(32 // of_word)
    return builder.trunc(builder.lshr(lane, _WORD(k % of_word * byte.width)), byte)

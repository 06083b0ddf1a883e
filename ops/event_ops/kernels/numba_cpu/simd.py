"""Neighbouring elements of an array as one SIMD value, for loops that Numba does not vectorise well.

A kernel that sums rows of a matrix keeps its sum in registers with them. LLVM splits or pads a width that the
processor lacks; a complex number takes two lanes, its real and its imaginary part.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import models, register_model

from event_ops.kernels.numba_cpu.jit import CONTRACT, INLINED, instruction, njit
from ffi_bridge.numba_cpu import as_dtype

FLAGS = tuple(CONTRACT)  # as llvmlite takes them


class Lanes(types.Type):
    """`width` elements of `dtype`, side by side."""

    def __init__(self, dtype: Any, width: int) -> None:
        self.dtype = dtype
        self.width = width
        super().__init__(f"Lanes({dtype}, {width})")


@register_model(Lanes)
class LanesModel(models.PrimitiveModel):
    """An LLVM vector."""

    def __init__(self, manager: Any, lanes: Any) -> None:
        floats_each = 2 if isinstance(lanes.dtype, types.Complex) else 1
        element = manager[getattr(lanes.dtype, "underlying_float", lanes.dtype)].get_data_type()
        super().__init__(manager, lanes, ir.VectorType(element, lanes.width * floats_each))


@instruction(lambda like, width: np.zeros(width, like.dtype))
def zeros(context: Any, like: Any, width: Any) -> Any:
    """Return `width` zeros of the dtype of the array `like`."""
    lanes = Lanes(like.dtype, width.literal_value)

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return ir.Constant(context.get_value_type(lanes), None)

    return lanes(like, width), emit


@instruction(lambda array, place, width: array.reshape(-1)[place : place + width].copy())
def load(context: Any, array: Any, place: Any, width: Any) -> Any:
    """Return `width` elements of a C-contiguous array from `place` of its flat form on; unchecked."""
    lanes = Lanes(array.dtype, width.literal_value)

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        address = _address(context, builder, signature.args[0], arguments[0], arguments[1], lanes)
        return builder.load(address, align=_alignment(array.dtype))

    return lanes(array, place, width), emit


def _store(array: Any, place: Any, lanes: Any) -> None:
    array.reshape(-1)[place : place + lanes.size] = lanes


@instruction(_store)
def store(context: Any, array: Any, place: Any, lanes: Any) -> Any:
    """Store `lanes` where `load` would read them."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        address = _address(context, builder, signature.args[0], arguments[0], arguments[1], lanes)
        builder.store(arguments[2], address, align=_alignment(array.dtype))
        return context.get_dummy_value()

    return types.void(array, place, lanes), emit


def _gathered(values: Any, indices: Any, k: Any, width: Any) -> Any:
    return values[indices[k : k + np.uintp(width)]]


@instruction(_gathered)
def gathered(context: Any, values: Any, indices: Any, k: Any, width: Any) -> Any:
    """Return the elements of `values` at `width` indices from place k on, loaded one by one; unchecked."""
    lanes = Lanes(values.dtype, width.literal_value)

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data, places = (
            context.make_array(kind)(context, builder, array).data
            for kind, array in zip(signature.args[:2], arguments[:2], strict=True)
        )
        result = ir.Constant(context.get_value_type(lanes), ir.Undefined)
        for lane in range(lanes.width):
            index = builder.load(builder.gep(places, [builder.add(arguments[2], arguments[2].type(lane))]))
            place = context.cast(builder, index, signature.args[1].dtype, types.intp)
            value = builder.load(builder.gep(data, [place]))
            result = builder.insert_element(result, value, ir.IntType(32)(lane))
        return result

    return lanes(values, indices, k, width), emit


def _all_below(indices: Any, k: Any, size: Any, width: Any) -> Any:
    return bool(np.all(indices[k : k + np.uintp(width)].astype(np.uintp) < size))


@instruction(_all_below)
def all_below(context: Any, indices: Any, k: Any, size: Any, width: Any) -> Any:
    """Return whether `width` indices from place k on, as unsigned numbers of 64 bits, are below `size`."""
    lanes = Lanes(indices.dtype, width.literal_value)

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        address = _address(context, builder, signature.args[0], arguments[0], arguments[1], lanes)
        loaded = builder.load(address, align=_alignment(indices.dtype))
        if lanes.dtype.bitwidth < arguments[2].type.width:
            wide = ir.VectorType(arguments[2].type, lanes.width)
            loaded = builder.sext(loaded, wide) if lanes.dtype.signed else builder.zext(loaded, wide)
        outside = builder.icmp_unsigned(">=", loaded, splat(builder, arguments[2], loaded))
        bits = ir.IntType(lanes.width)
        return builder.icmp_unsigned("==", builder.bitcast(outside, bits), bits(0))

    return types.boolean(indices, k, size, width), emit


@instruction(lambda total, weight, values: total + weight * values)
def add_product(context: Any, total: Any, weight: Any, values: Any) -> Any:
    """total + weight * values, for one weight or as many lanes of real ones."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        dtype, (total, weight, values) = signature.args[0].dtype, arguments
        if isinstance(dtype, types.Complex):
            # (a + ib) * (x, y) = a * (x, y) + b * (-y, x), a pair of lanes for each number.
            weight = context.make_complex(builder, dtype, value=weight)
            real, imaginary = splat(builder, weight.real, values), splat(builder, weight.imag, values)
            signs = ir.Constant(values.type, [-1.0, 1.0] * (values.type.count // 2))
            turned = shuffled(builder, values, [lane ^ 1 for lane in range(values.type.count)])
            total = _add(builder, total, _multiply(builder, real, values))
            return _add(builder, total, _multiply(builder, _multiply(builder, imaginary, signs), turned))
        weights = weight if isinstance(signature.args[1], Lanes) else splat(builder, weight, values)
        return _add(builder, total, _multiply(builder, weights, values))

    return total(total, weight, values), emit


@instruction(lambda lanes: np.where(lanes < 0, lanes, lanes.dtype.type(0)))
def negative_part(context: Any, lanes: Any) -> Any:
    """min(x, 0) of each lane; 0 of NaN."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        zero = ir.Constant(arguments[0].type, None)
        return builder.select(builder.fcmp_ordered("<", arguments[0], zero), arguments[0], zero)

    return lanes(lanes), emit


@instruction(lambda lanes: sum(1 << k for k, x in enumerate(lanes) if x > 0))
def positive(context: Any, lanes: Any) -> Any:
    """Return a number of 64 bits, in which bit k says whether lane k, of at most 64, is above 0."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        is_above = builder.fcmp_ordered(">", arguments[0], ir.Constant(arguments[0].type, None))
        bits = builder.bitcast(is_above, ir.IntType(lanes.width))
        return builder.zext(bits, ir.IntType(64)) if lanes.width < 64 else bits

    return types.uint64(lanes), emit


@instruction(lambda bits: (int(bits) & -int(bits)).bit_length() - 1)
def lowest_bit(context: Any, bits: Any) -> Any:
    """Return the place of the lowest bit that is set; there is one."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.uint64), emit


@instruction(lambda total, weight, events: total + np.where(events, weight * events, total.dtype.type(0)))
def add_weighted(context: Any, total: Any, weight: Any, events: Any) -> Any:
    """total + weight * events, and exactly 0 from inactive ones; events are bool or real."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        total, weight, events = arguments
        weights, silent = splat(builder, weight, total), ir.Constant(events.type, None)
        if isinstance(signature.args[2].dtype, types.Boolean):
            is_active, terms = builder.icmp_unsigned("!=", events, silent), weights
        else:
            is_active = builder.fcmp_unordered("!=", events, silent)
            terms = _multiply(builder, weights, events)
        return _add(builder, total, builder.select(is_active, terms, ir.Constant(total.type, None)))

    return total(total, weight, events), emit


@instruction(np.sum)
def sum_of(context: Any, lanes: Any) -> Any:
    """Return the sum of all lanes."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        (total,), half = arguments, lanes.width // 2
        while half:
            upper = shuffled(builder, total, [(lane + half) % lanes.width for lane in range(lanes.width)])
            total, half = _add(builder, total, upper), half // 2
        return builder.extract_element(total, ir.IntType(32)(0))

    return lanes.dtype(lanes), emit


def _address(context: Any, builder: Any, array_type: Any, array: Any, place: Any, lanes: Any) -> Any:
    data = context.make_array(array_type)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [place]), context.get_value_type(lanes).as_pointer())


def _alignment(dtype: Any) -> int:
    """Return the alignment in bytes that every place of an array has: the size of an element."""
    # By default LLVM would expect the alignment of the whole vector.
    return as_dtype(getattr(dtype, "underlying_float", dtype)).itemsize


def splat(builder: Any, scalar: Any, like: Any) -> Any:
    """Return a vector as long as `like` with one value in every lane."""
    kind = ir.VectorType(scalar.type, like.type.count)
    first = builder.insert_element(ir.Constant(kind, ir.Undefined), scalar, ir.IntType(32)(0))
    return shuffled(builder, first, [0] * kind.count)


def shuffled(builder: Any, vector: Any, order: list[int]) -> Any:
    """Return the lanes of a vector in another order."""
    mask = ir.Constant(ir.VectorType(ir.IntType(32), len(order)), order)
    return builder.shuffle_vector(vector, ir.Constant(vector.type, ir.Undefined), mask)


def compressed(builder: Any, vector: Any, mask: Any) -> Any:
    """Return a vector that begins with the lanes where the mask is set; the rest is undefined."""
    kind, count = vector.type, vector.type.count
    function = ir.FunctionType(kind, (kind, mask.type, kind))
    name = f"llvm.experimental.vector.compress.v{count}i{kind.element.width}"
    compress = builder.module.globals.get(name) or ir.Function(builder.module, function, name)
    return builder.call(compress, (vector, mask, ir.Constant(kind, ir.Undefined)))


def _multiply(builder: Any, x: Any, y: Any) -> Any:
    is_integer = isinstance(x.type.element, ir.IntType)
    return builder.mul(x, y) if is_integer else builder.fmul(x, y, flags=FLAGS)


def _add(builder: Any, x: Any, y: Any) -> Any:
    is_integer = isinstance(x.type.element, ir.IntType)
    return builder.add(x, y) if is_integer else builder.fadd(x, y, flags=FLAGS)


def over_columns(make: Callable[[int], Any]) -> Any:
    """Return the function of (size, *arguments) that takes columns sixteen, then four, then one at a time.

    `make(width)` returns the function of (begin, end, *arguments) that takes `width`.
    """
    by_16, by_4, by_1 = map(make, (16, 4, 1))

    @njit(**INLINED)
    def columns(size: int, *arguments: Any) -> Any:
        whole, fours = size - size % 16, size - size % 4
        return by_16(0, whole, *arguments), by_4(whole, fours, *arguments), by_1(fours, size, *arguments)

    return columns

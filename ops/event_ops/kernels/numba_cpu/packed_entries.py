"""Rows of a CSR matrix whose entries are words: of 32 bits, a column and a signed code, or of 16, a column.

WIDTH words are taken apart at once, and one comparison tells whether all their columns are in range. What
columns point at is loaded one by one into a SIMD value: that takes less time than a gather instruction.
"""

from typing import Any, Final

import numpy as np
from llvmlite import ir
from numba import types

from event_ops.checks.packed_entries import NARROW_BITS
from event_ops.kernels.numba_cpu.access import at, hoist, weighted
from event_ops.kernels.numba_cpu.events import active_value
from event_ops.kernels.numba_cpu.jit import CONTRACT, by_type, dtype_of, instruction, njit
from event_ops.kernels.numba_cpu.prefetch import (
    ENDS_AHEAD,
    ENTRIES_AHEAD,
    STREAM_BYTES_AHEAD,
    is_far,
    prefetch,
    prefetch_ends,
    prefetch_range,
)
from event_ops.kernels.numba_cpu.simd import FLAGS, splat, sum_of, zeros
from ffi_bridge.numba_cpu import as_dtype

WIDTH: Final = 8
_WIDTH: Final = np.uintp(WIDTH)
# How many rows ahead their words are asked for: a row of words takes less time than one of a CSR matrix.
WORDS_AHEAD: Final = np.uintp(12)


@njit
def bits_for(columns: Any) -> Any:
    """Return how many bits of a word hold a column."""
    bits = 0
    while 1 << bits < columns:
        bits += 1
    return np.uint32(bits)


@njit
def mask_of(bits: Any) -> Any:
    """Return the word whose lowest `bits` are ones."""
    return np.uint32((np.uint64(1) << np.uint64(bits)) - np.uint64(1))


@by_type
def column_bits(words: Any, columns: Any) -> Any:
    """Return how many bits of a word hold a column, by the dtype of words."""
    if dtype_of(words) == np.uint16:
        return lambda words, columns: np.uint32(NARROW_BITS)
    return lambda words, columns: bits_for(columns)


@by_type
def code_in(word: Any, bits: Any) -> Any:
    """Return the code of a word, with its sign; 1 for a narrow one."""
    if dtype_of(word) == np.uint16:
        return lambda word, bits: np.int32(1)
    return lambda word, bits: np.uint32(word).view(np.int32) >> np.int32(bits)


def _all_inside(words: Any, k: Any, mask: Any, columns: Any) -> Any:
    return bool(np.all((words[k : k + _WIDTH] & mask) < columns))


@instruction(_all_inside)
def all_inside(context: Any, words: Any, k: Any, mask: Any, columns: Any) -> Any:
    """Return whether WIDTH words from place k on all have a column below `columns`, a uint32."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array, k, mask, columns = arguments
        loaded = _load(context, builder, signature.args[0], array, k)
        outside = builder.icmp_unsigned(
            ">=", builder.and_(loaded, splat(builder, mask, loaded)), splat(builder, columns, loaded)
        )
        lanes = ir.IntType(WIDTH)
        return builder.icmp_unsigned("==", builder.bitcast(outside, lanes), lanes(0))

    return types.boolean(words, k, mask, columns), emit


def _add_words(total: Any, words: Any, k: Any, values: Any, bits: Any, mask: Any) -> Any:
    some = words[k : k + _WIDTH]
    return total + code_in(some, bits).astype(values.dtype) * values[some & mask]


@instruction(_add_words)
def add_words(context: Any, total: Any, words: Any, k: Any, values: Any, bits: Any, mask: Any) -> Any:
    """total + code * values[column], lane by lane, for WIDTH words from place k on; columns are unchecked."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        total, array, k, values, bits, mask = arguments
        value_at = context.make_array(signature.args[3])(context, builder, values).data
        met, word = ir.Constant(total.type, ir.Undefined), ir.IntType(32)
        for lane in range(WIDTH):
            column = _column_at(
                context, builder, signature.args[1], array, builder.add(k, k.type(lane)), mask
            )
            met = builder.insert_element(met, builder.load(builder.gep(value_at, [column])), word(lane))
        if signature.args[1].dtype == types.uint16:
            return builder.fadd(total, met, flags=FLAGS)
        loaded = _load(context, builder, signature.args[1], array, k)
        codes = builder.sitofp(builder.ashr(loaded, splat(builder, bits, loaded)), total.type)
        return builder.fadd(total, builder.fmul(codes, met, flags=FLAGS), flags=FLAGS)

    return total(total, words, k, values, bits, mask), emit


def _add_at_columns(words: Any, k: Any, value: Any, y: Any, bits: Any, mask: Any) -> None:
    some = words[k : k + _WIDTH]
    np.add.at(y, some & mask, code_in(some, bits) * value)


@instruction(_add_at_columns)
def add_at_columns(context: Any, words: Any, k: Any, value: Any, y: Any, bits: Any, mask: Any) -> Any:
    """y[column] += code * value, one by one, for WIDTH words from place k on; columns are unchecked."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array, k, value, y, bits, mask = arguments
        sum_at, word = context.make_array(signature.args[3])(context, builder, y).data, ir.IntType(32)
        terms = [value] * WIDTH
        if signature.args[0].dtype != types.uint16:
            loaded = _load(context, builder, signature.args[0], array, k)
            codes = builder.ashr(loaded, splat(builder, bits, loaded))
            codes = builder.sitofp(codes, ir.VectorType(value.type, WIDTH))
            products = builder.fmul(codes, splat(builder, value, codes))
            terms = [builder.extract_element(products, word(lane)) for lane in range(WIDTH)]
        for lane, term in enumerate(terms):
            column = _column_at(
                context, builder, signature.args[0], array, builder.add(k, k.type(lane)), mask
            )
            place = builder.gep(sum_at, [column])
            builder.store(builder.fadd(builder.load(place), term), place)
        return context.get_dummy_value()

    return types.void(words, k, value, y, bits, mask), emit


def _load(context: Any, builder: Any, array_type: Any, array: Any, k: Any) -> Any:
    """Load WIDTH words, which begin anywhere, as 32 bits each."""
    address = context.make_array(array_type)(context, builder, array).data
    itemsize = as_dtype(array_type.dtype).itemsize
    lanes = ir.VectorType(ir.IntType(8 * itemsize), WIDTH)
    loaded = builder.load(builder.bitcast(builder.gep(address, [k]), lanes.as_pointer()), align=itemsize)
    return builder.zext(loaded, ir.VectorType(ir.IntType(32), WIDTH))


def _column_at(context: Any, builder: Any, array_type: Any, array: Any, k: Any, mask: Any) -> Any:
    """Load word k; return its column as an index."""
    address = context.make_array(array_type)(context, builder, array).data
    word = builder.zext(builder.load(builder.gep(address, [k])), mask.type)
    return builder.zext(builder.and_(word, mask), k.type)


@njit(fastmath=CONTRACT, _nrt=False, forceinline=True)
def row_sum(words: Any, values: Any, columns: Any, bits: Any, mask: Any, k: Any, end: Any) -> Any:
    """Return the sum of code * values[column] over the words from k up to `end`."""
    total, rest = zeros(values, WIDTH), values.dtype.type(0)
    while k + _WIDTH <= end and all_inside(words, k, mask, columns):
        total = add_words(total, words, k, values, bits, mask)
        k += _WIDTH
    while k < end:
        j = words[k] & mask
        if j < columns:
            rest += values.dtype.type(code_in(words[k], bits)) * values[np.uintp(j)]
        k += np.uintp(1)
    return sum_of(total) + rest


@njit
def columns_of(x: Any, part: int, parts: int) -> Any:
    """Return the elements of x for the columns of one of equal parts."""
    width = -(-x.size // parts)
    return x[min(part * width, x.size) : min((part + 1) * width, x.size)]


@njit
def gather_words(
    words: Any, indptr: Any, scale: Any, values: Any, y: Any, low: int, high: int, adds: bool
) -> None:
    """y[i] = scale[i] * row_sum(...) of row i, or with `adds` y[i] += that, for the rows `low` to `high`."""
    scales, nse, columns = hoist(scale), np.uintp(words.size), np.uint32(values.size)
    bits, ahead = column_bits(words, values.size), STREAM_BYTES_AHEAD // np.uintp(words.itemsize)
    mask, streamed = mask_of(bits), is_far(words)
    for i in range(np.uintp(low), np.uintp(high)):
        begin, end = min(np.uintp(indptr[i]), nse), min(np.uintp(indptr[i + np.uintp(1)]), nse)
        if streamed:
            prefetch_range(words, begin + ahead, end + ahead)
        total = weighted(at(scales, i), row_sum(words, values, columns, bits, mask, begin, end))
        y[i] = y[i] + total if adds else total


# No product becomes one instruction with its sum, which would round otherwise: a sum has the same bits,
# whether its words are taken one by one or not.
@njit(forceinline=True)
def add_row(words: Any, value: Any, y: Any, columns: Any, bits: Any, mask: Any, k: Any, end: Any) -> None:
    """y[column] += code * value over the words from k up to `end`."""
    while k + _WIDTH <= end and all_inside(words, k, mask, columns):
        add_at_columns(words, k, value, y, bits, mask)
        k += _WIDTH
    for place in range(k, end):
        word = words[place]
        j = word & mask
        if j < columns:
            y[np.uintp(j)] += type(value)(code_in(word, bits)) * value


@njit
def scatter_words(words: Any, indptr: Any, scale: Any, v: Any, y: Any, low: int, high: int) -> None:
    """y[column] += code * scale[i] * v[i] over row i, for the rows from `low` to `high`."""
    scales, nse, columns = hoist(scale), np.uintp(words.size), np.uint32(y.size)
    bits, ahead = column_bits(words, y.size), STREAM_BYTES_AHEAD // np.uintp(words.itemsize)
    mask, streamed = mask_of(bits), is_far(words)
    for i in range(np.uintp(low), np.uintp(high)):
        begin, end = min(np.uintp(indptr[i]), nse), min(np.uintp(indptr[i + np.uintp(1)]), nse)
        if streamed:
            prefetch_range(words, begin + ahead, end + ahead)
        add_row(words, weighted(at(scales, i), v[i]), y, columns, bits, mask, begin, end)


@njit
def filled_rows(words: Any, indptr: Any, scale: Any, events: Any, ids: Any, each: Any, like: Any) -> Any:
    """Return where the rows `ids` begin and end, without empty ones, and scale * event of each.

    `each` rows have a scale together; values are of the dtype of `like`.
    """
    scales, nse, count = hoist(scale), np.uintp(words.size), np.uintp(0)
    begins, ends = np.empty(ids.size, np.uintp), np.empty(ids.size, np.uintp)
    values = np.empty(ids.size, like.dtype)
    for position in range(np.uintp(ids.size)):
        prefetch_ends(indptr, ids, position + ENDS_AHEAD)
        i = np.uintp(ids[position])
        begin, end = min(np.uintp(indptr[i]), nse), min(np.uintp(indptr[i + np.uintp(1)]), nse)
        if begin < end:
            begins[count], ends[count] = begin, end
            values[count] = weighted(at(scales, i // each), active_value(events, i))
            count += np.uintp(1)
    return begins[:count], ends[:count], values[:count]


@njit
def prefetch_words(words: Any, begin: Any, end: Any) -> None:
    """Ask for the first words of a row: the processor finds all further ones by itself."""
    prefetch_range(words, begin, min(end, begin + ENTRIES_AHEAD))
    prefetch(words, min(end, begin + ENTRIES_AHEAD) - np.uintp(1))  # a row begins anywhere in a cache line


@njit
def add_rows_of_words(
    words: Any, indptr: Any, scale: Any, events: Any, ids: Any, each: Any, y: Any, bits: Any
) -> None:
    """y[column] += code * scale[i // each] * event over the rows `ids`; `bits` of a word are its column."""
    begins, ends, values = filled_rows(words, indptr, scale, events, ids, each, y)
    columns, mask, count = np.uint32(y.size), mask_of(bits), np.uintp(begins.size)
    for row in range(min(count, WORDS_AHEAD)):
        prefetch_words(words, begins[row], ends[row])
    for row in range(count):
        if row + WORDS_AHEAD < count:
            prefetch_words(words, begins[row + WORDS_AHEAD], ends[row + WORDS_AHEAD])
        add_row(words, values[row], y, columns, bits, mask, begins[row], ends[row])

"""Rows of a matrix, added to a range of the columns, of which each thread has one.

WIDTH entries are compared at once, so that those of other ranges take little time, whatever their order.
"""

from typing import Any, Final

import numpy as np
from llvmlite import ir
from numba import types

from event_ops.kernels.numba_cpu.access import at, hoist, row_span
from event_ops.kernels.numba_cpu.jit import instruction, njit
from event_ops.kernels.numba_cpu.packed_entries import (
    WORDS_AHEAD,
    code_in,
    column_bits,
    filled_rows,
    mask_of,
    prefetch_words,
)
from event_ops.kernels.numba_cpu.packed_events import trailing_zeros
from event_ops.kernels.numba_cpu.prefetch import ENDS_AHEAD, ROWS_AHEAD, prefetch_ends, prefetch_row
from event_ops.kernels.numba_cpu.simd import compressed, splat
from ffi_bridge.numba_cpu import as_dtype

WIDTH: Final = 8
_WIDTH: Final = np.uintp(WIDTH)
ALL: Final = np.uint8((1 << WIDTH) - 1)
EVERY_BIT: Final = np.uintp(np.iinfo(np.uintp).max)


def _inside(entries: Any, k: Any, mask: Any, low: Any, columns: Any) -> Any:
    some = (entries[k : k + _WIDTH].astype(np.uintp) & mask) - low < columns
    return np.packbits(some, bitorder="little")[0]


@instruction(_inside)
def inside(context: Any, entries: Any, k: Any, mask: Any, low: Any, columns: Any) -> Any:
    """Return a bit for each of WIDTH entries from place k on: whether low <= entry & mask < low + columns."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array, k, *bounds = arguments
        itemsize = as_dtype(entries.dtype).itemsize
        wide = types.uint64 if itemsize == 8 else types.uint32
        lanes = ir.VectorType(ir.IntType(8 * itemsize), WIDTH)
        address = builder.gep(context.make_array(signature.args[0])(context, builder, array).data, [k])
        loaded = builder.load(builder.bitcast(address, lanes.as_pointer()), align=itemsize)
        if itemsize < 4:
            loaded = builder.zext(loaded, ir.VectorType(ir.IntType(32), WIDTH))
        mask, low, columns = (
            splat(builder, context.cast(builder, x, types.uintp, wide), loaded) for x in bounds
        )
        # One comparison for both ends: a column below `low` wraps around, beyond all others.
        column = builder.sub(builder.and_(loaded, mask), low)
        return builder.bitcast(builder.icmp_unsigned("<", column, columns), ir.IntType(WIDTH))

    return types.uint8(entries, types.uintp, types.uintp, types.uintp, types.uintp), emit


def _list_reaching(
    pairs: Any, entries: Any, k: Any, least: Any, base: Any, lists: Any, once: Any, several: Any
) -> tuple[Any, Any]:
    found = pairs[entries[k : k + _WIDTH]]
    reached, places = found >= least, np.arange(WIDTH) + int(k - base)
    single, more = reached[:, 0] & ~reached[:, 1], reached[:, 1]
    end, last = once + np.uintp(single.sum()), several + np.uintp(more.sum())
    lists[0, once:end], lists[1, once:end] = places[single], found[single, 0]
    lists[2, several:last] = places[more]
    return end, last


@instruction(_list_reaching)
def list_reaching(
    context: Any, pairs: Any, entries: Any, k: Any, least: Any, base: Any, lists: Any, once: Any, several: Any
) -> Any:
    """List the entries with pairs[entry, 0] >= least among WIDTH from place k on; unchecked.

    pairs: int32 (neurons, 2), whose second number is no larger than the first. Where the second is less than
    `least`, lists[0] gets place - base and lists[1] the first number, both behind `once` elements; elsewhere
    lists[2] gets place - base, behind `several`. Return the new `once` and `several`; what follows them in
    the lists is overwritten.
    """

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        arrays = [context.make_array(signature.args[n])(context, builder, arguments[n]) for n in (0, 1, 5)]
        data, places, rows = (array.data for array in arrays)
        data, word = builder.bitcast(data, ir.IntType(64).as_pointer()), ir.IntType(32)
        both: Any = ir.Constant(ir.VectorType(ir.IntType(64), WIDTH), ir.Undefined)
        # Loads of one pair each take no longer than an instruction that gathers, which few processors have.
        for lane in range(WIDTH):
            place = builder.add(arguments[2], ir.Constant(arguments[2].type, lane))
            j = context.cast(builder, builder.load(builder.gep(places, [place])), entries.dtype, types.uintp)
            pair = builder.load(builder.gep(data, [j]), align=4)
            both = builder.insert_element(both, pair, ir.Constant(word, lane))
        single = ir.VectorType(word, WIDTH)
        shifted = builder.lshr(both, splat(builder, ir.Constant(ir.IntType(64), 32), both))
        newest, before = builder.trunc(both, single), builder.trunc(shifted, single)
        bound = splat(builder, context.cast(builder, arguments[3], least, types.int32), newest)
        more = builder.icmp_signed(">=", before, bound)
        one = builder.and_(builder.icmp_signed(">=", newest, bound), builder.not_(more))
        first = builder.trunc(builder.sub(arguments[2], arguments[4]), word)
        offsets = builder.add(splat(builder, first, newest), ir.Constant(single, list(range(WIDTH))))
        length = builder.extract_value(arrays[2].shape, 1)
        for row, values, mask, count in (
            (0, offsets, one, arguments[6]), (1, newest, one, arguments[6]),
            (2, offsets, more, arguments[7]),
        ):  # fmt: skip
            place = builder.add(builder.mul(length, ir.Constant(length.type, row)), count)
            address = builder.bitcast(builder.gep(rows, [place]), single.as_pointer())
            builder.store(compressed(builder, values, mask), address, align=4)
        counts = [
            builder.add(count, builder.zext(builder.ctpop(builder.bitcast(x, ir.IntType(WIDTH))), count.type))
            for count, x in ((arguments[6], one), (arguments[7], more))
        ]
        return context.make_tuple(builder, signature.return_type, counts)

    numbers = types.uintp, types.uintp
    return types.UniTuple(types.uintp, 2)(
        pairs, entries, types.uintp, least, types.uintp, lists, *numbers
    ), emit


@njit(forceinline=True)
def add_entries(weights: Any, indices: Any, y: Any, low: Any, columns: Any, k: Any, end: Any) -> None:
    """y[indices[k]] += weight k for the entries from k up to `end` in `columns` columns from `low` on."""
    while k + _WIDTH <= end:
        within = inside(indices, k, EVERY_BIT, low, columns)
        if within == ALL:
            for lane in range(_WIDTH):
                y[np.uintp(indices[k + lane])] += at(weights, k + lane)
        else:
            while within:
                place = k + trailing_zeros(within)
                y[np.uintp(indices[place])] += at(weights, place)
                within &= within - np.uint8(1)  # without its lowest bit, that of this entry
        k += _WIDTH
    for place in range(k, end):
        j = np.uintp(indices[place])
        if j - low < columns:
            y[j] += at(weights, place)


@njit
def add_rows_to_range(data: Any, indices: Any, ends: Any, ids: Any, y: Any, low: Any, high: Any) -> None:
    """y[indices[k]] += weight k over the rows `ids`, for columns from `low` up to `high`."""
    weights, nse = hoist(data), np.uintp(indices.size)
    first, columns = np.uintp(low), np.uintp(high) - np.uintp(low)
    for position in range(np.uintp(ids.size)):
        prefetch_ends(ends, ids, position + ENDS_AHEAD)
        prefetch_row(weights, indices, ends, ids, position + ROWS_AHEAD)
        begin, end = row_span(ends, np.uintp(ids[position]), nse)
        add_entries(weights, indices, y, first, columns, begin, end)


# As in `packed_entries`, no product becomes one instruction with its sum.
@njit(forceinline=True)
def add_words_of_row(
    words: Any, value: Any, y: Any, bits: Any, low: Any, columns: Any, k: Any, end: Any
) -> None:
    """y[column] += code * value for the words from k up to `end` in `columns` columns from `low` on."""
    mask = np.uintp(mask_of(bits))
    while k + _WIDTH <= end:
        within = inside(words, k, mask, low, columns)
        while within:
            word = words[k + trailing_zeros(within)]
            y[np.uintp(word) & mask] += type(value)(code_in(word, bits)) * value
            within &= within - np.uint8(1)
        k += _WIDTH
    for place in range(k, end):
        word = words[place]
        if (np.uintp(word) & mask) - low < columns:
            y[np.uintp(word) & mask] += type(value)(code_in(word, bits)) * value


@njit
def add_words_to_range(
    matrix: Any, part: Any, events: Any, ids: Any, each: Any, y: Any, low: Any, high: Any
) -> None:
    """y += the words of a part of a matrix over the rows `ids`, for columns from `low` up to `high` of y.

    `each` rows have a scale together.
    """
    words, indptr, scale, starts = matrix
    bits, sums = column_bits(words, y.size), y[starts[part] : starts[part + 1]]
    first, columns = np.uintp(low) - np.uintp(starts[part]), np.uintp(high) - np.uintp(low)
    begins, ends, values = filled_rows(words, indptr[part], scale, events, ids, each, sums)
    count = np.uintp(begins.size)
    for row in range(min(count, WORDS_AHEAD)):
        prefetch_words(words, begins[row], ends[row])
    for row in range(count):
        if row + WORDS_AHEAD < count:
            prefetch_words(words, begins[row + WORDS_AHEAD], ends[row + WORDS_AHEAD])
        add_words_of_row(words, values[row], sums, bits, first, columns, begins[row], ends[row])

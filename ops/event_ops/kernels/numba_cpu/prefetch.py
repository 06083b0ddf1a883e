"""Asking for memory before it is needed: no processor predicts which rows the next spikes point at."""

from typing import Any, Final

import numpy as np
from llvmlite import ir
from numba import types

from event_ops.kernels.numba_cpu.access import row_span
from event_ops.kernels.numba_cpu.jit import by_type, dtype_of, instruction, is_array, is_tuple, njit

CACHE_LINE: Final = 64

# How many rows ahead their entries are asked for, and, before that, their ends; and how many entries of a
# row, since the processor finds those that follow by itself.
ROWS_AHEAD: Final = np.uintp(4)
ENDS_AHEAD: Final = np.uintp(16)
ENTRIES_AHEAD: Final = np.uintp(256)

# How many entries ahead a whole matrix is asked for, no fewer than so many at once, and what its entries
# point at; each only where it is larger than the memory that a processor keeps close. Elements here and there
# that are only read do not wait for each other: they are asked for only from an array that is larger than the
# memory that processors share.
STREAM_AHEAD: Final = np.uintp(256)
STREAM_AT_ONCE: Final = np.uintp(64)
TARGETS_AHEAD: Final = np.uintp(64)
CLOSE_BYTES: Final = np.uintp(1 << 20)
SHARED_BYTES: Final = np.uintp(1 << 22)
STREAM_BYTES_AHEAD: Final = np.uintp(4) * STREAM_AHEAD  # of words, which have two bytes or four

# For entries of four bytes; of wider ones the processor finds every other line by itself.
ENTRIES_PER_LINE: Final = np.uintp(16)

# What llvm.prefetch takes: to be read, to stay in all caches, no instructions.
_READ, _KEEP, _DATA = 0, 3, 1


@instruction(lambda array, i: None)
def prefetch(context: Any, array: Any, i: Any) -> Any:
    """Ask for the cache line of element i of an array laid flat: no exception, no fault, whatever i is."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array_type, (array, i) = signature.args[0], arguments
        data = context.make_array(array_type)(context, builder, array).data
        byte, word = ir.IntType(8).as_pointer(), ir.IntType(32)
        address = builder.bitcast(builder.gep(data, [i]), byte)
        function = builder.module.declare_intrinsic(
            "llvm.prefetch", [byte], ir.FunctionType(ir.VoidType(), [byte, word, word, word])
        )
        builder.call(function, [address, word(_READ), word(_KEEP), word(_DATA)])
        return context.get_dummy_value()

    return types.void(array, i), emit


@by_type
def prefetch_range(values: Any, low: Any, high: Any) -> Any:
    """Ask for values[low:high], or for nothing where one value stands for all; of a pair, for the places."""
    if is_tuple(values):
        return lambda values, low, high: prefetch_range(values[1], low, high)
    if not is_array(values):
        return lambda values, low, high: None
    per_line = np.uintp(CACHE_LINE // dtype_of(values).itemsize)

    def ask(values: Any, low: Any, high: Any) -> None:
        for k in range(low, high, per_line):
            prefetch(values, k)

    return ask


# Reference counts of the arrays would take longer than a short row.
@njit(_nrt=False)
def prefetch_row(weights: Any, indices: Any, ends: Any, ids: Any, position: Any) -> None:
    """Ask for the beginning of the row ids[position], if there is one, and of its weights."""
    if position < np.uintp(ids.size):
        low, end = row_span(ends, np.uintp(ids[position]), np.uintp(indices.size))
        for k in range(low, min(end, low + ENTRIES_AHEAD), ENTRIES_PER_LINE):
            prefetch(indices, k)
            prefetch_element(weights, k)


@njit(_nrt=False)
def prefetch_ends(ends: Any, ids: Any, position: Any) -> None:
    """Ask for the ends of the row ids[position], if there is one, which `prefetch_row` waits for."""
    if position < np.uintp(ids.size):
        prefetch_element(ends, np.uintp(ids[position]))


@njit(_nrt=False, forceinline=True)
def prefetch_stream(data: Any, indices: Any, prefetched: Any, end: Any) -> Any:
    """Ask for the entries from `prefetched` to `end`, shifted by STREAM_AHEAD, if they are enough for a turn.

    By itself the processor stops at every page. Return the `prefetched` of the next turn.
    """
    if prefetched + STREAM_AT_ONCE > end:
        return prefetched
    prefetch_range(data, prefetched + STREAM_AHEAD, end + STREAM_AHEAD)
    prefetch_range(indices, prefetched + STREAM_AHEAD, end + STREAM_AHEAD)
    return end


@njit
def is_far(values: Any) -> Any:
    """Return whether asking for an array ahead of time costs less than waiting for it."""
    return np.uintp(values.size * values.itemsize) > CLOSE_BYTES


@njit
def is_far_to_read(values: Any) -> Any:
    """Return whether that is so for elements here and there of an array that is only read."""
    return np.uintp(values.size * values.itemsize) > SHARED_BYTES


@by_type
def prefetch_element(values: Any, j: Any) -> Any:
    """Ask for values[j], an element or a row, or for nothing where one value, or two, stand for all."""
    if is_tuple(values):
        return lambda values, j: prefetch_element(values[1], j)
    if not is_array(values):
        return lambda values, j: None
    if values.ndim == 1:
        return lambda values, j: prefetch(values, j)
    per_line = np.uintp(CACHE_LINE // dtype_of(values).itemsize)

    def ask(values: Any, j: Any) -> None:
        length = np.uintp(values.shape[1])
        for c in range(np.uintp(0), length, per_line):
            prefetch(values, j * length + c)

    return ask


@njit
def prefetch_targets(values: Any, indices: Any, low: Any, high: Any) -> None:
    """Ask for the elements of `values` that entries TARGETS_AHEAD behind a row's entries point at."""
    nse = np.uintp(indices.size)
    for k in range(min(low + TARGETS_AHEAD, nse), min(high + TARGETS_AHEAD, nse)):
        prefetch_element(values, np.uintp(indices[k]))

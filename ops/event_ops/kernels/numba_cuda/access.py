"""Reading unchecked values: parameters, positions, events in every encoding, slots, entries' rows.

A position that is known to be inside of an array is an np.uint64 there: of a signed one Numba asks each time
whether it counts from the end.
"""

from typing import Any, Final

import jax
import ml_dtypes
import numpy as np
from llvmlite import ir
from numba import cuda, types
from numba.extending import intrinsic

# Numba has no type for bfloat16, and calls a function for float16: kernels read their bits.
_BITS: Final = {np.dtype(np.float16): np.uint16, np.dtype(ml_dtypes.bfloat16): np.int16}


def stored_weights(data: jax.Array, dtype: Any) -> jax.Array:
    """Return weights as `widened` reads them: floats of 16 bits by their bits, all others in `dtype`."""
    if data.dtype in _BITS:
        return jax.lax.bitcast_convert_type(data, _BITS[data.dtype])
    # Integers of 16 bits would be taken for such bits; their products are cut to `dtype` later.
    is_short = np.dtype(dtype).kind in "iu" and np.dtype(dtype).itemsize == 2
    return data.astype(np.int32 if is_short else dtype)


@intrinsic
def widened(typing: Any, weight: Any) -> Any:
    """Return a weight, of `stored_weights`, as it is, or as float32 where it is the bits of a float."""
    number = types.float32 if weight in (types.uint16, types.int16) else weight

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        (bits,) = arguments
        if weight == types.uint16:
            return builder.fpext(builder.bitcast(bits, ir.HalfType()), ir.FloatType())
        if weight == types.int16:
            word = ir.IntType(32)
            return builder.bitcast(builder.shl(builder.zext(bits, word), word(16)), ir.FloatType())
        return bits

    return number(weight), emit


@cuda.jit(device=True)
def at(x: Any, i: Any) -> Any:
    """Return element i; an array of one element holds it for all."""
    return x[np.uint64(i)] if x.size > 1 else x[0]


@cuda.jit(device=True)
def weight_in_order(weights: Any, k: Any) -> Any:
    """Return the weight of entry k, where weights are in the order of the entries, or one is for all."""
    return widened(at(weights[0], k))


@cuda.jit(device=True)
def weight_by_place(weights: Any, k: Any) -> Any:
    """Return the weight that entry k has at its place in data; 0 if the place is out of range."""
    data, permutation = weights
    i = permutation[np.uint64(k)]
    # A permutation comes from outside as well: nothing is read by a place that nobody has checked.
    return widened(data[np.uint64(i)] if is_inside(i, data.size) else data.dtype.type(0))


def weight_for(permutation: tuple[Any, ...]) -> Any:
    """Return the device function `f(weights, k)` for the weight of entry k; weights are `launched`."""
    return weight_by_place if permutation else weight_in_order


def launched(data: Any, *permutation: Any) -> tuple[Any, Any]:
    """Return the two arrays that a launch gives for weights: data again where there is no permutation."""
    # So the text of a kernel is the same with a permutation and without.
    return data, (permutation or (data,))[0]


@cuda.jit(device=True)
def weight_at(data: Any, k: Any) -> Any:
    """Return the weight of entry k."""
    return widened(data[k])


@cuda.jit(device=True)
def only_weight(data: Any, _k: Any) -> Any:
    """Return the one weight of all entries."""
    return widened(data[0])


def weight_in(data: Any) -> Any:
    """Return the device function `f(data, k)` for the weight of entry k that does not ask at every k."""
    return only_weight if data.size == 1 else weight_at


@cuda.jit(device=True)
def element_at(x: Any, i: Any) -> Any:
    """Return event i, which is a flag, a number or a count."""
    return x[i]


@cuda.jit(device=True)
def bounded(position: Any, size: Any) -> Any:
    """Return a position in [0, size]: `size` for any position outside."""
    return np.int64(size) if np.uint64(position) > np.uint64(size) else np.int64(position)


@cuda.jit(device=True)
def is_inside(index: Any, size: Any) -> Any:
    """Return whether an index is in [0, size)."""
    return np.uint64(index) < np.uint64(size)  # negative ones are larger than any size


@cuda.jit(device=True)
def place(index: Any, size: Any) -> Any:
    """Return an index in [0, size) as it is, or -1."""
    return np.int64(index) if is_inside(index, size) else np.int64(-1)


@cuda.jit(device=True)
def is_active(event: Any) -> Any:
    """Return True for True and for any number but 0, also for NaN."""
    return event != 0


@cuda.jit(device=True)
def always(number: Any) -> Any:
    """Return True: even 0 counts, since its weight may be NaN."""
    return True


@cuda.jit(device=True)
def row_of_flag(events: Any, position: Any, rows: Any) -> Any:
    """Return the row of the flag or number at `position`, or -1 if it is inactive or does not exist."""
    if position < rows and is_active(events[np.uint64(position)]):
        return position
    return -1


@cuda.jit(device=True)
def row_of_id(ids: Any, position: Any, rows: Any) -> Any:
    """Return the row of the spike id at `position`, or -1 if it is out of range or does not exist."""
    if position < ids.size:
        return place(ids[np.uint64(position)], rows)
    return -1


@cuda.jit(device=True)
def row_of_bit(words: Any, position: Any, rows: Any) -> Any:
    """Return the row of the bit at `position`, or -1 if it is inactive or does not exist."""
    if position < rows and bit_at(words, position):
        return position
    return -1


@cuda.jit(device=True)
def bit_at(words: Any, i: Any) -> Any:
    """Return event i of packed bits."""
    return (words[np.uint64(i >> 5)] >> (i & 31)) & 1


@cuda.jit(device=True)
def one_at(_events: Any, _i: Any) -> Any:
    """Return 1, the value of an active event without a number."""
    return 1


def row_of_event_for(dtype: Any) -> Any:
    """Return the device function `f(events, position, rows)` that gives the row of an active event, or -1."""
    return {np.dtype(np.int32): row_of_id, np.dtype(np.uint32): row_of_bit}.get(np.dtype(dtype), row_of_flag)


def active_value_for(dtype: Any) -> Any:
    """Return the device function `f(events, i)` that gives the value of the active event of row i."""
    return one_at if np.dtype(dtype) in (np.bool_, np.int32, np.uint32) else element_at


def event_at_for(dtype: Any) -> Any:
    """Return the device function `f(events, i)` that gives event i, active or not; not for spike ids."""
    return bit_at if np.dtype(dtype) == np.uint32 else element_at


def positions_in(events: Any, rows: int) -> int:
    """Return how many positions of `events` may hold an active event."""
    return events.size if events.dtype == np.int32 else rows


@cuda.jit(device=True)
def slot_now(slot: Any, slots: Any) -> Any:
    """Return the current slot: `slot`, any integer, modulo the number of slots."""
    return slot[()] % slots  # of the sign of the divisor, as in Python


@cuda.jit(device=True)
def upper_bound(x: Any, value: Any, low: Any, high: Any) -> Any:
    """Return the first position in [low, high) whose element of the sorted x exceeds `value`, or `high`."""
    while low < high:
        # Of equal elements the last counts: rows without entries are passed over.
        middle = (low + high) // 2
        if x[middle] <= value:
            low = middle + 1
        else:
            high = middle
    return low

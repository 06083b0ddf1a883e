"""Reading what nobody has checked: parameters, positions, events in every encoding, slots, entries' rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import cuda


@cuda.jit(device=True)
def at(x: Any, i: Any) -> Any:
    """Element i; an array of one element holds it for all."""
    return x[i] if x.size > 1 else x[0]


@cuda.jit(device=True)
def bounded(position: Any, size: Any) -> Any:
    """A position in [0, size]; whatever is outside becomes the end."""
    if position < 0 or position > size:
        return np.int64(size)
    return np.int64(position)


@cuda.jit(device=True)
def place(index: Any, size: Any) -> Any:
    """An index in [0, size), or -1."""
    if index < 0 or index >= size:
        return np.int64(-1)
    return np.int64(index)


@cuda.jit(device=True)
def is_active(event: Any) -> Any:
    """True for True, and for any number but 0, NaN among them."""
    return event != 0


@cuda.jit(device=True)
def row_of_flag(events: Any, position: Any, rows: Any) -> Any:
    """The row whose event is at `position`, or -1 if it is inactive or there is none."""
    if position < rows and is_active(events[position]):
        return position
    return -1


@cuda.jit(device=True)
def row_of_id(ids: Any, position: Any, rows: Any) -> Any:
    """The same for spike ids, of which those that are no row are ignored."""
    if position < ids.size:
        return place(ids[position], rows)
    return -1


@cuda.jit(device=True)
def row_of_bit(words: Any, position: Any, rows: Any) -> Any:
    """The same for packed bits."""
    if position < rows and bit_at(words, position):
        return position
    return -1


@cuda.jit(device=True)
def number_at(events: Any, i: Any) -> Any:
    """Event i of flags or numbers."""
    return events[i]


@cuda.jit(device=True)
def bit_at(words: Any, i: Any) -> Any:
    """Event i of packed bits."""
    return (words[i >> 5] >> (i & 31)) & 1


@cuda.jit(device=True)
def one_at(_events: Any, _i: Any) -> Any:
    """What an active event counts as where it is only known to be active."""
    return 1


def row_at(dtype: Any) -> Any:
    """The device function `f(events, position, rows)`: the row that an active event is for, or -1."""
    return {np.dtype(np.int32): row_of_id, np.dtype(np.uint32): row_of_bit}.get(np.dtype(dtype), row_of_flag)


def active_event_at(dtype: Any) -> Any:
    """The device function `f(events, i)`: the value of the event for row i, which is active."""
    return number_at if np.dtype(dtype).kind == "f" else one_at


def event_at(dtype: Any) -> Any:
    """The device function `f(events, i)`: event i, active or not, of flags, numbers or packed bits."""
    return bit_at if np.dtype(dtype) == np.uint32 else number_at


def positions_in(events: Any, rows: int) -> int:
    """How many places of `events` there are to look at."""
    return events.size if events.dtype == np.int32 else rows


@cuda.jit(device=True)
def slot_now(slot: Any, slots: Any) -> Any:
    """The current slot: any integer, modulo the number of slots."""
    return slot[()] % slots  # of the sign of the divisor, as in Python


@cuda.jit(device=True)
def upper_bound(x: Any, value: Any, low: Any, high: Any) -> Any:
    """The first position from `low` on whose element of the sorted x is greater than `value`, or `high`."""
    while low < high:
        middle = (low + high) // 2
        if x[middle] <= value:
            low = middle + 1
        else:
            high = middle
    return low


@cuda.jit(device=True)
def search_range(indptr: Any, first: Any, end: Any) -> Any:
    """Between which bounds `row_of_entry` finds the rows of the entries from `first` up to `end`."""
    low = upper_bound(indptr, first, 0, indptr.size)
    return low, upper_bound(indptr, end - 1, low, indptr.size)


@cuda.jit(device=True)
def row_of_entry(indptr: Any, k: Any, low: Any, high: Any) -> Any:
    """The row that holds entry k, or -1."""
    return place(upper_bound(indptr, k, low, high) - 1, indptr.size - 1)

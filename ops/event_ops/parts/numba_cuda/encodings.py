"""The encodings of a vector of events on a GPU: flags or numbers, spike ids, packed bits.

Which one it is follows from the dtype of the vector, as everywhere in the catalog.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import cuda

from event_ops.parts.numba_cuda.access import is_active, place


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

"""Active rows of a history, the events of the last steps: row i * slots + d is neuron i, d steps ago."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.extending import overload

from event_ops.kernels.numba_cpu.events import active_ids, active_value, flags_of, have_values
from event_ops.kernels.numba_cpu.jit import njit
from event_ops.kernels.numba_cpu.packed_events import BITS, set_bits_into
from event_ops.kernels.numba_cpu.prefetch import prefetch

# Events that are read before the room for ids is checked again.
CHUNK = np.uintp(1 << 15)


class Recent(NamedTuple):
    """A history in which `active_value` looks up the event of row i * slots + d."""

    history: Any
    now: Any  # the slot of the current step, an np.uintp below the number of slots

    def active_value(self, i: Any) -> Any:
        """Return the value of an active row, or True where events have none; in Python alone."""
        return _value(self, i) if have_values(self.history.dtype) else True


def ids_into(events: Any, size: Any, ids: Any) -> Any:
    """Write the ids of the active ones of `size` events to the front of `ids`; return their number."""
    if events.dtype == np.uint32:
        return set_bits_into(events, size, ids)
    return active_ids(flags_of(events), ids)


@overload(ids_into, strict=False)
def _ids_into(events: Any, size: Any, ids: Any) -> Any:
    if events.dtype == types.uint32:
        return lambda events, size, ids: set_bits_into(events, size, ids)
    return lambda events, size, ids: active_ids(flags_of(events), ids)


def events_per(words: Any) -> Any:
    """Return how many events an element of the array stands for."""
    return BITS if words.dtype == np.uint32 else np.uintp(1)


@overload(events_per, strict=False)
def _events_per(words: Any) -> Any:
    return (lambda words: BITS) if words.dtype == types.uint32 else (lambda words: np.uintp(1))


def recent_rows(history: Any, now: Any, size: Any) -> Any:
    """Return the rows of all active events in the history of `size` neurons."""
    return (rows_of_lists if history.dtype == np.int32 else rows_of_events)(history, now, size)


@overload(recent_rows, strict=False)
def _recent_rows(history: Any, now: Any, size: Any) -> Any:
    if history.dtype == types.int32:
        return lambda history, now, size: rows_of_lists(history, now, size)
    return lambda history, now, size: rows_of_events(history, now, size)


@njit
def steps_since(slot: Any, now: Any, slots: Any) -> Any:
    """Return how many steps ago the slot was the current one."""
    return now + slots - slot if slot > now else now - slot


@njit
def rows_of_lists(history: Any, now: Any, size: Any) -> Any:
    """Return `recent_rows` of spike ids; a slot's ids end at its first padding."""
    slots, lengths, total = np.uintp(history.shape[0]), np.empty(history.shape[0], np.uintp), np.uintp(0)
    for slot in range(slots):  # a step's rows have pushed the lists out of the caches since they were read
        prefetch(history, slot * np.uintp(history.shape[1]))
    for slot in range(slots):
        lengths[slot] = known_at_front(history[slot], np.uint32(size))
        total += lengths[slot]
    rows, found = np.empty(total, np.uintp), np.uintp(0)
    for slot in range(slots):
        ids, delay = history[slot], steps_since(slot, now, slots)
        for position in range(lengths[slot]):
            rows[found + position] = np.uintp(ids[position]) * slots + delay
        found += lengths[slot]
    return rows


@njit
def known_at_front(ids: Any, size: Any) -> Any:
    """Return how many ids there are in front of the first that is out of range."""
    count = np.uintp(0)
    while count < np.uintp(ids.size) and np.uint32(ids[count]) < size:
        count += np.uintp(1)
    return count


@njit
def rows_of_events(history: Any, now: Any, size: Any) -> Any:
    """Return `recent_rows` of bits, flags, numbers or counts."""
    flat, each = history.reshape(-1), events_per(history)
    ids, found, chunk = np.empty(np.uintp(2) * CHUNK, np.uintp), np.uintp(0), CHUNK // each
    for low in range(np.uintp(0), np.uintp(flat.size), chunk):
        if found + CHUNK > np.uintp(ids.size):
            ids = grown(ids, found)
        some = flat[low : min(low + chunk, np.uintp(flat.size))]
        new = ids_into(some, np.uintp(some.size) * each, ids[found:])
        for position in range(found, found + new):
            ids[position] += low * each
        found += new
    return rows_of_ids(ids[:found], now, np.uintp(history.shape[0]), np.uintp(history.shape[1]) * each, size)


@njit
def grown(ids: Any, found: Any) -> Any:
    """Return the first `found` ids in an array of twice the size."""
    more = np.empty(np.uintp(2) * np.uintp(ids.size), np.uintp)
    more[:found] = ids[:found]
    return more


@njit
def rows_of_ids(ids: Any, now: Any, slots: Any, width: Any, size: Any) -> Any:
    """Turn numbers slot * width + i of events into rows i * slots + delay, in place; drop i >= size."""
    kept, slot, first = np.uintp(0), np.uintp(0), np.uintp(0)
    for position in range(np.uintp(ids.size)):
        # Ascending ids need no division, which takes longer than all the rest.
        while ids[position] >= first + width:
            slot, first = slot + np.uintp(1), first + width
        i, delay = ids[position] - first, steps_since(slot, now, slots)
        ids[kept] = i * slots + delay
        kept += np.uintp(i < np.uintp(size))
    return ids[:kept]


def _value(events: Any, i: Any) -> Any:
    slots = np.uintp(events.history.shape[0])
    return events.history[(events.now + slots - i % slots) % slots, i // slots]


@overload(active_value, strict=False)
def _active_value(events: Any, i: Any) -> Any:
    if not isinstance(events, types.NamedTuple):
        return None
    return _value if have_values(events.types[0].dtype) else lambda events, i: True

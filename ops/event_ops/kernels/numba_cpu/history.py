"""Active rows of a history, the events of the last steps: row i * slots + d is neuron i, d steps ago."""

from typing import Any

import numpy as np

from event_ops.kernels.numba_cpu.events import active_ids, flags_of
from event_ops.kernels.numba_cpu.jit import by_type, dtype_of, njit
from event_ops.kernels.numba_cpu.packed_events import BITS, set_bits_into
from event_ops.kernels.numba_cpu.prefetch import prefetch

# Events that are read before the room for ids is checked again.
CHUNK = np.uintp(1 << 15)


@by_type
def ids_into(events: Any, size: Any, ids: Any) -> Any:
    """Write the ids of the active ones of `size` events to the front of `ids`; return their number."""
    if dtype_of(events) == np.uint32:
        return lambda events, size, ids: set_bits_into(events, size, ids)
    return lambda events, size, ids: active_ids(flags_of(events), ids)


@by_type
def events_per(history: Any) -> Any:
    """Return how many events an element of the array stands for."""
    return (lambda history: BITS) if dtype_of(history) == np.uint32 else (lambda history: np.uintp(1))


@by_type
def recent_rows(history: Any, now: Any, size: Any) -> Any:
    """Return the rows of all active events in the history of `size` neurons."""
    if dtype_of(history) == np.int32:
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
        lengths[slot] = in_range_at_front(history[slot], np.uint32(size))
        total += lengths[slot]
    rows, count = np.empty(total, np.uintp), np.uintp(0)
    for slot in range(slots):
        ids, delay = history[slot], steps_since(slot, now, slots)
        for position in range(lengths[slot]):
            rows[count + position] = np.uintp(ids[position]) * slots + delay
        count += lengths[slot]
    return rows


@njit
def in_range_at_front(ids: Any, size: Any) -> Any:
    """Return how many ids there are in front of the first that is out of range."""
    count = np.uintp(0)
    while count < np.uintp(ids.size) and np.uint32(ids[count]) < size:
        count += np.uintp(1)
    return count


@njit
def rows_of_events(history: Any, now: Any, size: Any) -> Any:
    """Return `recent_rows` of bits, flags, numbers or counts."""
    flat, each = history.reshape(-1), events_per(history)
    ids, count, chunk = np.empty(np.uintp(2) * CHUNK, np.uintp), np.uintp(0), CHUNK // each
    for low in range(np.uintp(0), np.uintp(flat.size), chunk):
        if count + CHUNK > np.uintp(ids.size):
            ids = grown(ids, count)
        some = flat[low : min(low + chunk, np.uintp(flat.size))]
        new = ids_into(some, np.uintp(some.size) * each, ids[count:])
        for position in range(count, count + new):
            ids[position] += low * each
        count += new
    return rows_of_ids(ids[:count], now, np.uintp(history.shape[0]), np.uintp(history.shape[1]) * each, size)


@njit
def grown(ids: Any, count: Any) -> Any:
    """Return the first `count` ids in an array of twice the size."""
    more = np.empty(np.uintp(2) * np.uintp(ids.size), np.uintp)
    more[:count] = ids[:count]
    return more


@njit
def rows_of_ids(ids: Any, now: Any, slots: Any, width: Any, size: Any) -> Any:
    """Turn numbers slot * width + i of events into rows i * slots + delay, in place; drop i >= size."""
    count, slot, first = np.uintp(0), np.uintp(0), np.uintp(0)
    for position in range(np.uintp(ids.size)):
        # Ascending ids need no division, which takes longer than all the rest.
        while ids[position] >= first + width:
            slot, first = slot + np.uintp(1), first + width
        i, delay = ids[position] - first, steps_since(slot, now, slots)
        ids[count] = i * slots + delay
        count += np.uintp(i < np.uintp(size))
    return ids[:count]

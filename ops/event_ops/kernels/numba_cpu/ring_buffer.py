"""Delivering events after a delay: adding rows of a CSR matrix to slots of a ring buffer.

`add_delayed_rows` does it on one thread. On several threads each calls `add_part` for slots of its own: none
waits for another, and there are no private sums. Every thread reads the delays of all active rows, 64 at a
time; in a row that is in the order of its delays it skips the blocks of other threads.
"""

from typing import Any

import numpy as np

from event_ops.kernels.numba_cpu.access import at, hoist, weighted
from event_ops.kernels.numba_cpu.events import active_value
from event_ops.kernels.numba_cpu.jit import REORDER, njit
from event_ops.kernels.numba_cpu.prefetch import (
    ENTRIES_AHEAD,
    ROWS_AHEAD,
    is_far,
    prefetch,
    prefetch_range,
    prefetch_row,
)


@njit
def slot_now(slot: Any, slots: Any) -> Any:
    """Return the current slot: `slot`, any integer, modulo the number of slots."""
    return np.uintp(np.int64(slot[()]) % np.int64(slots))


# How many rows ahead a row's entries are asked for, and, once these have arrived, what they add to.
ENTRIES_ROWS_AHEAD = ROWS_AHEAD + np.uintp(1)
TARGETS_ROWS_AHEAD = np.uintp(1)


@njit
def prefetch_delayed_row(
    weights: Any, steps: Any, indices: Any, indptr: Any, ids: Any, position: Any
) -> None:
    """Ask for the beginning of the row ids[position], if there is one, its weights and delays."""
    if position < np.uintp(ids.size):
        prefetch_row(weights, indices, indptr, ids, position)
        low = np.uintp(indptr[np.uintp(ids[position])])
        prefetch_range(steps, low, min(low + ENTRIES_AHEAD, np.uintp(indices.size)))


@njit
def ending(now: Any, delay: Any, slots: Any) -> Any:
    """Return the slot in which a delay ends, where now < slots and delay < slots."""
    slot = now + delay
    return slot - slots * np.uintp(slot >= slots)


@njit
def prefetch_arrivals(
    steps: Any, indices: Any, indptr: Any, ids: Any, position: Any, now: Any, y: Any
) -> None:
    """Ask for the places that the entries of the row ids[position], if there is one, add to."""
    if position < np.uintp(ids.size):
        i, nse = np.uintp(ids[position]), np.uintp(indices.size)
        flat, slots, columns = y.reshape(-1), np.uintp(y.shape[0]), np.uintp(y.shape[1])
        for k in range(min(np.uintp(indptr[i]), nse), min(np.uintp(indptr[i + np.uintp(1)]), nse)):
            place = ending(now, np.uintp(at(steps, k)), slots) * columns + np.uintp(indices[k])
            prefetch(flat, place)


@njit(fastmath=REORDER)
def add_delayed_rows(
    data: Any, indices: Any, indptr: Any, delays: Any, spikes: Any, ids: Any, now: Any, y: Any
) -> None:
    """y[(now + delays[k]) % slots, indices[k]] += weight k * spike over the rows `ids`; now < slots."""
    weights, steps, far = hoist(data), hoist(delays), is_far(y)
    nse, slots, columns = np.uintp(indices.size), np.uintp(y.shape[0]), np.uintp(y.shape[1])
    for position in range(np.uintp(ids.size)):
        prefetch_delayed_row(weights, steps, indices, indptr, ids, position + ENTRIES_ROWS_AHEAD)
        if far:
            prefetch_arrivals(steps, indices, indptr, ids, position + TARGETS_ROWS_AHEAD, now, y)
        i = np.uintp(ids[position])
        spike = active_value(spikes, i)
        for k in range(min(np.uintp(indptr[i]), nse), min(np.uintp(indptr[i + np.uintp(1)]), nse)):
            # Negative delays and columns are too large as unsigned numbers, and so left out, too.
            delay, j = np.uintp(at(steps, k)), np.uintp(indices[k])
            if delay < slots and j < columns:
                y[ending(now, delay, slots), j] += weighted(at(weights, k), spike)


# Delays that are tested together; and how many entries ahead the place that one adds to is asked for.
BLOCK = np.uintp(64)
TARGETS_AHEAD = np.uintp(24)


@njit
def first_at_least(steps: Any, low: Any, k: Any, end: Any) -> Any:
    """Return the first entry from k on whose delay is at least `low`, or `end`."""
    while k + BLOCK <= end:
        largest = np.uintp(0)
        for position in range(BLOCK):
            largest = max(largest, np.uintp(steps[k + position]))
        if largest >= low:
            break
        k += BLOCK
    while k < end and np.uintp(steps[k]) < low:
        k += np.uintp(1)
    return k


@njit
def first_below(steps: Any, high: Any, k: Any, end: Any) -> Any:
    """Return the first entry from k on whose delay is below `high`, or `end`."""
    while k + BLOCK <= end:
        smallest = np.uintp(steps[k])
        for position in range(BLOCK):
            smallest = min(smallest, np.uintp(steps[k + position]))
        if smallest < high:
            break
        k += BLOCK
    while k < end and np.uintp(steps[k]) >= high:
        k += np.uintp(1)
    return k


@njit(fastmath=REORDER)
def add_entries(
    weights: Any, indices: Any, steps: Any, spike: Any, k: Any, end: Any, now: Any, low: Any, y: Any
) -> None:
    """Add the entries from k up to `end` whose delay is at least `low`; no delay is too large for y."""
    slots, columns, flat = np.uintp(y.shape[0]), np.uintp(y.shape[1]), y.reshape(-1)
    for entry in range(k, end):
        later = min(entry + TARGETS_AHEAD, end - np.uintp(1))
        place = ending(now, np.uintp(steps[later]), slots) * columns + np.uintp(indices[later])
        prefetch(flat, place)
        delay, j = np.uintp(steps[entry]), np.uintp(indices[entry])
        if delay >= low and j < columns:
            y[ending(now, delay, slots), j] += weighted(at(weights, entry), spike)


@njit
def add_part(
    data: Any,
    indices: Any,
    indptr: Any,
    steps: Any,
    spikes: Any,
    ids: Any,
    now: Any,
    low: Any,
    high: Any,
    y: Any,
) -> None:
    """y[(now + delay) % slots, indices[k]] += weight k * spike over the rows `ids`, low <= delay < high."""
    weights, nse = hoist(data), np.uintp(indices.size)
    for position in range(np.uintp(ids.size)):
        i = np.uintp(ids[position])
        spike, end = active_value(spikes, i), min(np.uintp(indptr[i + np.uintp(1)]), nse)
        k = first_at_least(steps, low, min(np.uintp(indptr[i]), nse), end)
        while k < end:
            stop = first_at_least(steps, high, k, end)
            add_entries(weights, indices, steps, spike, k, stop, now, low, y)
            # In a row in any other order, entries of this thread may follow those of another.
            k = first_below(steps, high, stop, end)


@njit
def seem_ordered(indptr: Any, steps: Any, ids: Any) -> Any:
    """Return whether the rows `ids` begin in the order of their delays, so that threads may share slots."""
    ordered, nse = True, np.uintp(steps.size)
    for position in range(np.uintp(ids.size)):
        i = np.uintp(ids[position])
        low, high = np.uintp(indptr[i]), min(np.uintp(indptr[i + np.uintp(1)]), nse)
        for k in range(low, min(low + BLOCK, high - np.uintp(1)) if low < high else low):
            ordered &= steps[k] <= steps[k + np.uintp(1)]
    return ordered


@njit
def slot_bounds(indptr: Any, steps: Any, ids: Any, parts: Any, slots: Any) -> Any:
    """Return delays that divide the entries of the rows `ids` about equally, if rows are in delay order."""
    bounds = np.zeros(parts + 1, np.uintp)
    for part in range(1, parts):
        bounds[part] = max(bounds[part - 1], mean_delay_at(indptr, steps, ids, part, parts, slots))
    bounds[parts] = slots
    return bounds


@njit
def mean_delay_at(indptr: Any, steps: Any, ids: Any, part: Any, parts: Any, slots: Any) -> Any:
    """Return the mean, over the rows `ids`, of the delay at part / parts of a row; at most `slots`."""
    total, entries = np.uintp(0), np.uintp(1)
    for position in range(np.uintp(ids.size)):
        i = np.uintp(ids[position])
        low, high = np.uintp(indptr[i]), min(np.uintp(indptr[i + np.uintp(1)]), np.uintp(steps.size))
        if low < high:
            delay = np.uintp(steps[low + (high - low) * np.uintp(part) // np.uintp(parts)])
            total += min(delay, np.uintp(slots)) * (high - low)
            entries += high - low
    return total // entries

"""Delivering events after a delay on several threads: each has some of the slots of the ring buffer.

So none waits for another, and none sums up what others did. Every thread passes over the delays of all active
rows, 64 at a time, and has to look no closer where a row is in the order of its delays.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from event_ops.parts.numba_cpu.access import at, hoist, weighted
from event_ops.parts.numba_cpu.delays import ending
from event_ops.parts.numba_cpu.event_ids import active_value
from event_ops.parts.numba_cpu.flags import REORDER
from event_ops.parts.numba_cpu.jit import njit
from event_ops.parts.numba_cpu.prefetch import prefetch

# Delays that are looked at together; and how far ahead what entries add to is asked for.
BLOCK = np.uintp(64)
TARGETS_AHEAD = np.uintp(24)


@njit
def first_at_least(steps: Any, low: Any, k: Any, end: Any) -> Any:
    """The first of the entries from k up to `end` whose delay is at least `low`; else `end`."""
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
    """The first of the entries from k up to `end` whose delay is below `high`; else `end`."""
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
    """Add those of the entries from k up to `end` whose delay is at least `low`; none is too large for y."""
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
            # Behind one that is another thread's there are more of this, if the row is in another order.
            k = first_below(steps, high, stop, end)


@njit
def seem_ordered(indptr: Any, steps: Any, ids: Any) -> Any:
    """Whether the rows `ids` begin in the order of their delays, so that threads may share them by slots."""
    ordered, nse = True, np.uintp(steps.size)
    for position in range(np.uintp(ids.size)):
        i = np.uintp(ids[position])
        low, high = np.uintp(indptr[i]), min(np.uintp(indptr[i + np.uintp(1)]), nse)
        for k in range(low, min(low + BLOCK, high - np.uintp(1)) if low < high else low):
            ordered &= steps[k] <= steps[k + np.uintp(1)]
    return ordered


@njit
def slot_bounds(indptr: Any, steps: Any, ids: Any, parts: Any, slots: Any) -> Any:
    """Delays that part the entries of the rows `ids` about equally, if rows are in their order."""
    bounds = np.zeros(parts + 1, np.uintp)
    for part in range(1, parts):
        bounds[part] = max(bounds[part - 1], mean_delay_at(indptr, steps, ids, part, parts, slots))
    bounds[parts] = slots
    return bounds


@njit
def mean_delay_at(indptr: Any, steps: Any, ids: Any, part: Any, parts: Any, slots: Any) -> Any:
    """The delay of the entry at part / parts of its row, on average over the rows `ids`; at most slots."""
    total, entries = np.uintp(0), np.uintp(1)
    for position in range(np.uintp(ids.size)):
        i = np.uintp(ids[position])
        low, high = np.uintp(indptr[i]), min(np.uintp(indptr[i + np.uintp(1)]), np.uintp(steps.size))
        if low < high:
            delay = np.uintp(steps[low + (high - low) * np.uintp(part) // np.uintp(parts)])
            total += min(delay, np.uintp(slots)) * (high - low)
            entries += high - low
    return total // entries

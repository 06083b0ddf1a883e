"""Loops of a run on the CPU: lists of spikes, arrivals, the history at the ends, and the record.

Spikes that are under way wait as lists of neurons, one for each step, and are delivered when they arrive: to
the state itself, so that there is no buffer of sums for each delay to read and clear in every step.
"""

from typing import Any

import numpy as np

from event_ops.kernels.numba_cpu.arrivals import add_words
from event_ops.kernels.numba_cpu.deliver import add_rows
from event_ops.kernels.numba_cpu.events import active_ids
from event_ops.kernels.numba_cpu.jit import njit
from event_ops.kernels.numba_cpu.packed_events import BITS, set_bits_into


@njit
def lists_of(history: Any, size: Any) -> Any:
    """Return lists of the spikes of all steps of a history of bits, and their lengths."""
    slots, room = history.shape[0], history.shape[1] * BITS  # also for bits that no neuron has
    lists, counts = np.empty((slots, room), np.uint32), np.empty(slots, np.uintp)
    for slot in range(np.uintp(slots)):
        counts[slot] = set_bits_into(history[slot], size, lists[slot])
    return lists, counts


@njit
def write_history(lists: Any, counts: Any, history: Any) -> None:
    """Write the listed spikes of all steps as bits."""
    for slot in range(np.uintp(history.shape[0])):
        history[slot, :] = 0
        for position in range(counts[slot]):
            i = np.uintp(lists[slot, position])
            history[slot, i // BITS] |= np.uint32(1) << np.uint32(i % BITS)


@njit
def list_spikes(spikes: Any, lists: Any, counts: Any, time: Any) -> None:
    """List the spikes of a step."""
    slot = np.uintp(time) % np.uintp(counts.size)
    counts[slot] = active_ids(spikes, lists[slot])


@njit
def add_entries(matrix: Any, lists: Any, rows: Any, each: Any, y: Any) -> None:
    """Add rows of a CSR matrix to y."""
    data, indices, indptr = matrix
    add_rows(data, indices, indptr, lists, rows, y)


@njit
def add_parts(matrix: Any, lists: Any, rows: Any, each: Any, y: Any) -> None:
    """Add rows of words to y, part by part; `each` of them have a scale together."""
    entries, ends, scale, starts = matrix
    for part in range(ends.shape[0]):
        add_words(entries, ends, scale, lists, rows, each, starts, y, part)


def make_deliver(add: Any) -> Any:
    """Return the function that adds the rows of the spikes that arrive now to y."""

    @njit
    def deliver(matrix: Any, ages: Any, lists: Any, counts: Any, time: Any, rows: Any, y: Any) -> None:
        slots, each, found = np.uintp(counts.size), np.uintp(ages.size), np.uintp(0)
        now, turn = np.uintp(time) % slots, np.uintp(time) % each
        for k in range(each):
            # In the order of a history of the projection's own, as operators read it.
            age = np.uintp(ages[k - turn if turn <= k else k + each - turn])
            slot = now - age if age <= now else now + slots - age
            if found + counts[slot] > np.uintp(rows.size):
                add(matrix, lists, rows[:found], each, y)
                found = np.uintp(0)
            first = age if each > np.uintp(1) else np.uintp(0)
            for position in range(counts[slot]):
                rows[found + position] = np.uintp(lists[slot, position]) * each + first
            found += counts[slot]
        if found:
            add(matrix, lists, rows[:found], each, y)

    return deliver


deliver_entries, deliver_words = make_deliver(add_entries), make_deliver(add_parts)


@njit
def record_spikes(lists: Any, counts: Any, time: Any, first: Any, found: Any, times: Any, ids: Any) -> Any:
    """Write the spikes of a step behind the `found` first, as many as have room; return the new number."""
    slot, room = np.uintp(time) % np.uintp(counts.size), np.uintp(ids.size)
    kept = min(counts[slot], room - min(np.uintp(found), room))
    for position in range(kept):
        times[np.uintp(found) + position] = time
        ids[np.uintp(found) + position] = np.int32(lists[slot, position]) + first
    return found + counts[slot]


@njit
def record_state(state: Any, chosen: Any, row: Any) -> None:
    """Write the states of chosen neurons."""
    for k in range(np.uintp(chosen.size)):
        row[k] = state[chosen[k]]


@njit
def end_record(found: Any, total: Any, times: Any, ids: Any, num_spikes: Any) -> None:
    """Write padding behind the recorded spikes, and the number of all."""
    for position in range(np.uintp(found), np.uintp(ids.size)):
        times[position], ids[position] = -1, total
    num_spikes[()] = min(np.uintp(found), np.uintp(np.iinfo(np.int32).max))

"""Active events in whatever form they are given: their ids, their values, and lookups by neuron."""

from typing import Any, NamedTuple

import numpy as np

from event_ops.kernels.numba_cpu.jit import by_type, dtype_of, is_tuple, njit
from event_ops.kernels.numba_cpu.packed_events import FLAGS, append_bits, bits_at, packed_bits, set_bits


@by_type
def flags_of(events: Any) -> Any:
    """Return one bool per event, True where it is active (not zero)."""
    return (lambda events: events) if dtype_of(events) == np.bool_ else (lambda events: events != 0)


@njit
def active_ids(flags: Any, ids: Any) -> Any:
    """Write the ids of the active events into `ids`, ascending, as many as fit; return how many there are."""
    count, whole, rest = np.uintp(0), np.uintp(flags.size) // FLAGS * FLAGS, np.uint64(0)
    for first in range(np.uintp(0), whole, FLAGS):
        count = append_bits(bits_at(flags, first), first, ids, count)
    # Fewer than 64 are left: to load 64 would read beyond the last.
    for i in range(whole, np.uintp(flags.size)):
        rest |= np.uint64(flags[i]) << np.uint64(i - whole)
    return append_bits(rest, whole, ids, count)


@by_type
def lookup_of(events: Any) -> Any:
    """Return the operand of `event_at`: bits for bools, the values themselves for numbers."""
    return (lambda events: packed_bits(events)) if dtype_of(events) == np.bool_ else (lambda events: events)


@by_type
def event_at(lookup: Any, i: Any) -> Any:
    """Return event i of a lookup: a bool from bits, or the value."""
    if dtype_of(lookup) != np.uint32:
        return lambda lookup, i: lookup[i]

    def bit(lookup: Any, i: Any) -> Any:
        shift = np.uint32(i) & np.uint32(31)
        return (lookup[i >> np.uintp(5)] >> shift) & np.uint32(1) != np.uint32(0)

    return bit


# Spike ids are tested in blocks, since there may be much padding behind the last.
BLOCK = np.uintp(64)


@njit
def ids_in_range(events: Any, size: Any) -> Any:
    """Return the spike ids that are in [0, size), as often as they occur."""
    ids = np.empty(events.size, np.uint32)
    candidates, limit, count = events.view(np.uint32), np.uint32(size), np.uintp(0)
    whole = np.uintp(candidates.size) // BLOCK * BLOCK
    for block in range(np.uintp(0), whole, BLOCK):
        any_in_range = np.uint32(0)
        # No branch, so that the test of a block vectorises.
        for position in range(BLOCK):
            any_in_range |= np.uint32(candidates[block + position] < limit)
        if any_in_range:
            count = append_in_range(candidates, limit, ids, count, block, block + BLOCK)
    return ids[: append_in_range(candidates, limit, ids, count, whole, np.uintp(candidates.size))]


@njit
def append_in_range(candidates: Any, limit: Any, ids: Any, count: Any, low: Any, high: Any) -> Any:
    """Write the candidates that are below `limit` behind the first `count` ids; return the new count."""
    for position in range(low, high):
        # Stored before it is tested: a branch would be mispredicted wherever padding and ids mix.
        ids[count] = candidates[position]
        count += np.uintp(candidates[position] < limit)
    return count


@njit
def listed_ids(events: Any) -> Any:
    """Return the ids of the active events, ascending."""
    ids = np.empty(events.size, np.uint32)
    return ids[: active_ids(flags_of(events), ids)]


@njit
def ids_by_row(events: Any) -> Any:
    """Return the ids of the active events in each row, row after row, and where each row begins."""
    ids, ends = np.empty(events.size, np.uint32), np.zeros(events.shape[0] + 1, np.int64)
    for row in range(events.shape[0]):
        ends[row + 1] = ends[row] + np.int64(active_ids(flags_of(events[row]), ids[ends[row] :]))
    return ids, ends


@by_type
def ids_of(events: Any, size: Any) -> Any:
    """Return the ids of active events: of `size` bits (uint32), spike ids (int32), flags or numbers."""
    if dtype_of(events) == np.int32:
        return lambda events, size: ids_in_range(events, size)
    if dtype_of(events) == np.uint32:
        return lambda events, size: set_bits(events, size)
    return lambda events, size: listed_ids(events)


@by_type
def values_of(events: Any, y: Any) -> Any:
    """Return the events as numbers of the dtype of y."""
    if dtype_of(events) == np.bool_:
        return lambda events, y: events.astype(y.dtype)
    return lambda events, y: events


class Recent(NamedTuple):
    """A history in which `active_value` looks up the event of row i * slots + d: of neuron i, d steps ago."""

    history: Any
    now: Any  # the slot of the current step, an np.uintp below the number of slots


@by_type
def active_value(events: Any, i: Any) -> Any:
    """Return the value of the active event i of an array or a `Recent`, or True where events have none."""
    kind = dtype_of(events[0] if is_tuple(events) else events)
    if str(kind) in ("bool", "int32", "uint32"):  # flags, ids and bits
        return lambda events, i: True
    return _value_of_row if is_tuple(events) else (lambda events, i: events[i])


def _value_of_row(events: Any, row: Any) -> Any:
    slots = np.uintp(events.history.shape[0])
    return events.history[(events.now + slots - row % slots) % slots, row // slots]


@njit
def count_ids(events: Any, counts: Any) -> None:
    """counts[i] = how often i is among the spike ids."""
    counts[:] = 0
    for position in range(np.uintp(events.size)):
        i = np.uintp(events[position])
        if i < np.uintp(counts.size):
            counts[i] += 1

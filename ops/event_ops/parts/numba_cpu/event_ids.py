"""The ids of active events, in whatever form these are given, and events from ids."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.extending import overload

from event_ops.parts.numba_cpu.events import active_ids, flags_of
from event_ops.parts.numba_cpu.jit import njit
from event_ops.parts.numba_cpu.packed import set_bits

# Spike ids are looked at so many at a time, since behind the last there may be much padding.
BLOCK = np.uintp(64)


@njit
def known_ids(events: Any, size: Any) -> Any:
    """Those of the spike ids that are in [0, size), as often as they occur."""
    ids = np.empty(events.size, np.uint32)
    given, limit, found = events.view(np.uint32), np.uint32(size), np.uintp(0)
    whole = np.uintp(given.size) // BLOCK * BLOCK
    for block in range(np.uintp(0), whole, BLOCK):
        known = np.uint32(0)
        for position in range(BLOCK):
            known |= np.uint32(given[block + position] < limit)
        if known:
            found = append_known(given, limit, ids, found, block, block + BLOCK)
    return ids[: append_known(given, limit, ids, found, whole, np.uintp(given.size))]


@njit
def append_known(given: Any, limit: Any, ids: Any, found: Any, low: Any, high: Any) -> Any:
    """Write those ids of the given that are below `limit` behind the first `found`; return how many now."""
    for position in range(low, high):
        ids[found] = given[position]
        found += np.uintp(given[position] < limit)
    return found


@njit
def listed_ids(events: Any) -> Any:
    """The ids of the active events, ascending."""
    ids = np.empty(events.size, np.uint32)
    return ids[: active_ids(flags_of(events), ids)]


def ids_of(events: Any, size: Any) -> Any:
    """The ids of the active ones of `size` events: of flags, numbers, spike ids (int32) or bits (uint32)."""
    if events.dtype == np.int32:
        return known_ids(events, size)
    return set_bits(events, size) if events.dtype == np.uint32 else listed_ids(events)


@overload(ids_of, strict=False)
def _ids_of(events: Any, size: Any) -> Any:
    if events.dtype == types.int32:
        return lambda events, size: known_ids(events, size)
    if events.dtype == types.uint32:
        return lambda events, size: set_bits(events, size)
    return lambda events, size: listed_ids(events)


def active_value(events: Any, i: Any) -> Any:
    """What the active event i counts: its value, or True for one that has none."""
    return events[i] if events.dtype.kind == "f" else True


@overload(active_value, strict=False)
def _active_value(events: Any, i: Any) -> Any:
    if not isinstance(events, types.Array):
        return None
    if isinstance(events.dtype, types.Float):
        return lambda events, i: events[i]
    return lambda events, i: True


@njit
def count_ids(events: Any, counts: Any) -> None:
    """counts[i] = how often i is among the spike ids."""
    counts[:] = 0
    for position in range(np.uintp(events.size)):
        i = np.uintp(events[position])
        if i < np.uintp(counts.size):
            counts[i] += 1

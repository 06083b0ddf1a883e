"""Finding active events: a list of their ids, or one bit for each."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.extending import overload

from event_ops.parts.numba_cpu.bits import FLAGS, bits_at
from event_ops.parts.numba_cpu.jit import njit
from event_ops.parts.numba_cpu.packed import append_bits, packed_bits


def flags_of(events: Any) -> Any:
    """One bool per event, True where it is active (not zero)."""
    return events if events.dtype == bool else events != 0


@overload(flags_of, strict=False)
def _flags_of(events: Any) -> Any:
    if isinstance(events.dtype, types.Boolean):
        return lambda events: events
    return lambda events: events != 0


@njit
def active_ids(flags: Any, ids: Any) -> Any:
    """Write the ids of the active events into `ids`, ascending, as many as fit; return how many there are."""
    found, whole, rest = np.uintp(0), np.uintp(flags.size) // FLAGS * FLAGS, np.uint64(0)
    for first in range(np.uintp(0), whole, FLAGS):
        found = append_bits(bits_at(flags, first), first, ids, found)
    for i in range(whole, np.uintp(flags.size)):
        rest |= np.uint64(flags[i]) << np.uint64(i - whole)
    return append_bits(rest, whole, ids, found)


def lookup_of(events: Any) -> Any:
    """What `event_at` reads: bits for bools, the values themselves for numbers."""
    return packed_bits(events) if events.dtype == bool else events


@overload(lookup_of, strict=False)
def _lookup_of(events: Any) -> Any:
    if isinstance(events.dtype, types.Boolean):
        return lambda events: packed_bits(events)
    return lambda events: events


def event_at(lookup: Any, i: Any) -> Any:
    """Event i: a bool out of the bits, or its value."""
    if lookup.dtype == np.uint32:
        return bool(lookup[i >> 5] >> np.uint32(i & 31) & np.uint32(1))
    return lookup[i]


@overload(event_at, strict=False)
def _event_at(lookup: Any, i: Any) -> Any:
    if lookup.dtype == types.uint32:

        def bit(lookup: Any, i: Any) -> Any:
            shift = np.uint32(i) & np.uint32(31)
            return (lookup[i >> np.uintp(5)] >> shift) & np.uint32(1) != np.uint32(0)

        return bit
    return lambda lookup, i: lookup[i]

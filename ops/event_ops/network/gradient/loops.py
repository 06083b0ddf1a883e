"""Loops of a run that is differentiated: spikes as bits, their list, and their delivery step by step.

A row of bits holds the spikes of one step of one sample; `lead` rows in front hold those before the run, so
that step s is row lead + s.
"""

from typing import Any, Final

import numpy as np

from event_ops.kernels.numba_cpu.jit import njit
from event_ops.kernels.numba_cpu.packed_events import pack_into, set_bits_into
from event_ops.network.loops import add_dense, add_entries

_LINE: Final = 64  # bytes


@njit
def in_lines(size: Any, like: Any) -> Any:
    """Return a flat array, of the dtype of another one, that begins where a line of the cache does.

    A vector that lies across two lines is loaded as two.
    """
    each = like.itemsize
    room = np.empty(size + _LINE // each, like.dtype)
    first = np.int64(_LINE - room.ctypes.data % _LINE) // each
    return room[first : first + size]


@njit
def pack(spikes: Any, row: Any) -> None:
    """Write spikes, which are not 0, as bits."""
    flags = np.empty(spikes.size, np.bool_)
    for i in range(np.uintp(spikes.size)):
        flags[i] = spikes[i] != 0
    pack_into(flags, row.view(np.uint8))


@njit
def read_history(history: Any, begin: Any, bits: Any, lead: Any) -> None:
    """Copy the spikes before step `begin` to the front of the rows."""
    for before in range(1, lead + 1):
        bits[lead - before] = history[(begin - before) % history.shape[0]]


@njit
def write_history(history: Any, end: Any, bits: Any) -> None:
    """Copy the spikes of the last steps before step `end`."""
    for before in range(1, history.shape[0] + 1):
        history[(end - before) % history.shape[0]] = bits[bits.shape[0] - before]


@njit
def list_step(
    row: Any, size: Any, first: Any, now: Any, found: Any, times: Any, ids: Any, listed: Any
) -> Any:
    """List the spikes of a step behind the `found` first, as many as have room; return their new number."""
    count = np.int64(set_bits_into(row, size, listed))
    for position in range(min(count, max(ids.size - found, 0))):
        times[found + position] = now
        ids[found + position] = np.int32(listed[position]) + first
    return found + count


def make_deliver(add: Any) -> Any:
    """Return the function that adds the rows of the spikes that arrive in a step to y."""

    @njit(_nrt=False)
    def deliver(
        matrix: Any, ages: Any, bits: Any, place: Any, now: Any, listed: Any, size: Any, y: Any
    ) -> None:
        each = np.int64(ages.size)
        for k in range(each):
            # In the order of a history of the projection's own, as operators read it.
            age = np.int64(ages[(k - now) % each])
            if age < 0:  # rows that are empty
                continue
            count = set_bits_into(bits[place - age], size, listed)
            for position in range(count if each > 1 else 0):
                listed[position] = listed[position] * np.uint32(each) + np.uint32(age)
            add(matrix, listed, listed[:count], each, y, 0, y.size)

    return deliver


deliver_dense, deliver_entries = make_deliver(add_dense), make_deliver(add_entries)

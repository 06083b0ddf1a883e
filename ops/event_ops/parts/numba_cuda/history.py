"""Histories on a GPU: the rows of recent events, whose words are bits, flags, numbers or spike ids.

A block reads some words and notes those with an active event; its threads, in teams, take these in turn, and
add the rows of their events.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numba
import numpy as np
from numba import cuda

from event_ops.parts.numba_cuda.access import is_active, place, slot_now
from event_ops.parts.numba_cuda.deliver import Delivery, note
from event_ops.parts.numba_cuda.row_products import csr_row
from event_ops.parts.numba_cuda.threads import BLOCK

BITS = 32


class Encoding(NamedTuple):
    """The device functions that read a word of the history."""

    is_known: Any  # (word, rows): whether an event in it is active
    bits_of: Any  # (word): its active events, as bits
    first_of: Any  # (word, its position in the slot): the neuron of the first bit
    value_of: Any  # (word): the value of its events


@cuda.jit(device=True)
def any_active(word: Any, _rows: Any) -> Any:
    """Return whether an event is active in a word of bits, a flag or a number."""
    return is_active(word)


@cuda.jit(device=True)
def is_row(word: Any, rows: Any) -> Any:
    """Return whether a spike id is that of a neuron, and not padding."""
    return place(word, rows) >= 0


@cuda.jit(device=True)
def bits_of_word(word: Any) -> Any:
    """Return the active events in a word of bits."""
    return np.uint32(word)


@cuda.jit(device=True)
def one_bit(_word: Any) -> Any:
    """Return the one active event in a flag, a number or a spike id, as a bit."""
    return np.uint32(1)


@cuda.jit(device=True)
def first_in_word(_word: Any, position: Any) -> Any:
    """Return the neuron of the first bit of a word."""
    return position * BITS


@cuda.jit(device=True)
def at_position(_word: Any, position: Any) -> Any:
    """Return the neuron of a flag or a number."""
    return position


@cuda.jit(device=True)
def by_name(word: Any, _position: Any) -> Any:
    """Return the neuron that a spike id names."""
    return np.int64(word)


@cuda.jit(device=True)
def one_for(_event: Any) -> Any:
    """Return 1, the value of an event that is a bit or an id."""
    return 1


@cuda.jit(device=True)
def value_for(event: Any) -> Any:
    """Return the value of an event that is a flag or a number."""
    return event


ENCODINGS = {
    np.dtype(np.uint32): Encoding(any_active, bits_of_word, first_in_word, one_for),
    np.dtype(np.int32): Encoding(is_row, one_bit, by_name, one_for),
}
FLAGS = Encoding(any_active, one_bit, at_position, value_for)


@cache
def deliver_recent_with(team: int, encoding: Encoding, add_row: Any) -> Any:
    """Return the kernel for one encoding; `team` threads share a row.

    A row is `add_row(weights, entries, i, first, width, begin, end, step, value, y)`, of neuron i, onto the
    `width` columns of a part from its first on.
    """
    is_known, bits_of, first_of, value_of = encoding

    @cuda.jit
    def deliver_recent(
        history: Any, weights: Any, entries: Any, indptr: Any, starts: Any, slot: Any, rows: Any, span: Any,
        y: Any,
    ) -> None:  # fmt: skip
        noted, count = cuda.shared.array(BLOCK, numba.int64), cuda.shared.array(1, numba.int32)
        slots, length = history.shape
        parts = indptr.shape[0]
        thread, found = cuda.threadIdx.x, -1
        position = cuda.blockIdx.x * span + thread
        if thread < span and position < history.size:
            found = position if is_known(history[position // length, position % length], rows) else -1
        active, now, nse = note(found, noted, count), slot_now(slot, slots), entries.size
        first, step = cuda.blockIdx.y * team + thread % team, cuda.gridDim.y * team
        for place_of_word in range(thread // team, active, BLOCK // team):
            step_of, word = noted[place_of_word] // length, noted[place_of_word] % length
            event = history[step_of, word]
            value, events, neuron = y.dtype.type(value_of(event)), bits_of(event), first_of(event, word)
            delay = (now - step_of) % slots
            while events:
                i = neuron + cuda.ffs(events) - 1
                events &= events - np.uint32(1)
                if i < rows:
                    for part in range(parts):
                        low, high = csr_row(indptr[part], i * slots + delay, nse)
                        begin, width = np.int64(starts[part]), np.int64(starts[part + 1] - starts[part])
                        add_row(weights, entries, i, begin, width, low + first, high, step, value, y)

    return deliver_recent


def deliver_recent(
    history: Any, weights: Any, entries: Any, indptr: Any, starts: Any, slot: Any, y: Any, stream: Any,
    add_row: Any,
) -> None:  # fmt: skip
    """Launch the kernel for the encoding of the history; indptr is (parts, rows * slots + 1)."""
    slots, rows = history.shape[0], indptr.shape[1] - 1
    grid, span, team = Delivery.of(history.size, rows, entries.size)
    kernel = deliver_recent_with(team, ENCODINGS.get(np.dtype(history.dtype), FLAGS), add_row)
    words = history, weights, entries, indptr, starts, slot, np.int64(rows // slots), np.int32(span), y
    kernel[grid, BLOCK, stream](*words)

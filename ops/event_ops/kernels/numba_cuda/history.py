"""Histories on a GPU: the rows of recent events, whose words are bits, flags, numbers or spike ids.

A block reads some words of a slot and notes those with an active event; its threads, in teams, take these in
turn, and add the rows of their events. Lists of spike ids begin with the active ones, so that neighbours are
in different blocks.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numba
import numpy as np
from numba import cuda

from event_ops.kernels.numba_cuda.access import is_active, place, slot_now
from event_ops.kernels.numba_cuda.deliver import Delivery, note, team_for
from event_ops.kernels.numba_cuda.row_products import csr_row
from event_ops.kernels.numba_cuda.threads import BLOCK, blocks_of

BITS = 32


class Encoding(NamedTuple):
    """The device functions that read a word of the history."""

    is_known: Any  # (word, rows): whether an event in it is active
    bits_of: Any  # (word): its active events, as bits
    first_of: Any  # (word, its position in the slot): the neuron of the first bit
    value_of: Any  # (word): the value of its events
    are_listed: bool = False  # the active words come first


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
    np.dtype(np.int32): Encoding(is_row, one_bit, by_name, one_for, are_listed=True),
}
FLAGS = Encoding(any_active, one_bit, at_position, value_for)


@cache
def make_recent_delivery(least: int, encoding: Encoding, add_row: Any) -> Any:
    """Return the kernel for one encoding; `least` threads share a row, or more.

    A row is `add_row(weights, entries, i, first, width, begin, end, step, value, y)`, of neuron i, onto the
    `width` columns of a part from its first on. `across` blocks share a slot, and each reads `span` words.
    """
    is_known, bits_of, first_of, value_of, are_listed = encoding

    @cuda.jit
    def deliver_recent(
        history: Any, weights: Any, entries: Any, indptr: Any, starts: Any, slot: Any, rows: Any, across: Any,
        span: Any, y: Any,
    ) -> None:  # fmt: skip
        noted, count = cuda.shared.array(BLOCK, numba.int32), cuda.shared.array(1, numba.int32)
        slots, length = history.shape
        parts, nse = indptr.shape[0], entries.size
        thread, found = cuda.threadIdx.x, np.int32(-1)
        step_of, own = np.uint64(cuda.blockIdx.x // across), cuda.blockIdx.x % across
        position = own + thread * across if are_listed else own * span + thread
        if thread < span and position < length and is_known(history[step_of, np.uint64(position)], rows):
            found = np.int32(position)
        active, now = note(found, noted, count), slot_now(slot, slots)
        team = team_for(active, least)
        delay = (now - np.int64(step_of)) % slots
        first, step = cuda.blockIdx.y * team + thread % team, cuda.gridDim.y * team
        for place_of_word in range(thread // team, active, BLOCK // team):
            word = noted[place_of_word]
            event = history[step_of, np.uint64(word)]
            value, events, neuron = y.dtype.type(value_of(event)), bits_of(event), first_of(event, word)
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
    (slots, length), rows = history.shape, indptr.shape[1] - 1
    (_, parts), span, least = Delivery.of(history.size, rows, entries.size)
    across = blocks_of(length, span)
    kernel = make_recent_delivery(least, ENCODINGS.get(np.dtype(history.dtype), FLAGS), add_row)
    words = history, weights, entries, indptr, starts, slot, np.int64(rows // slots)
    kernel[(slots * across, parts), BLOCK, stream](*words, np.int32(across), np.int32(span), y)

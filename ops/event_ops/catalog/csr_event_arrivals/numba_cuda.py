"""Arrivals through synapses with delays on a GPU: the rows of recent events, added to one vector.

A block reads some words, which are bits, flags or ids, and notes those with an active event; its threads, in
teams, take these in turn, and add the rows of their events.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numba
import numpy as np
from numba import cuda

from event_ops.parts.numba_cuda.access import is_active, place, slot_now, weight_in_order
from event_ops.parts.numba_cuda.deliver import Delivery, add_entries_with, note
from event_ops.parts.numba_cuda.fixed_order import event_sums
from event_ops.parts.numba_cuda.row_products import csr_row
from event_ops.parts.numba_cuda.threads import BLOCK
from event_ops.parts.reference.history import lagged
from ffi_bridge import numba_cuda_callable

BITS = 32

add_entries = add_entries_with(weight_in_order)


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
def deliver_recent_with(team: int, encoding: Encoding) -> Any:
    """Return the kernel for one encoding; `team` threads share a row."""
    is_known, bits_of, first_of, value_of = encoding

    @cuda.jit
    def deliver_recent(
        history: Any, data: Any, indices: Any, indptr: Any, slot: Any, rows: Any, span: Any, y: Any
    ) -> None:
        noted, count = cuda.shared.array(BLOCK, numba.int64), cuda.shared.array(1, numba.int32)
        slots, width = history.shape
        thread, found = cuda.threadIdx.x, -1
        position = cuda.blockIdx.x * span + thread
        if thread < span and position < history.size:
            found = position if is_known(history[position // width, position % width], rows) else -1
        active, now, nse = note(found, noted, count), slot_now(slot, slots), indices.size
        first, step = cuda.blockIdx.y * team + thread % team, cuda.gridDim.y * team
        for place_of_word in range(thread // team, active, BLOCK // team):
            step_of, word = noted[place_of_word] // width, noted[place_of_word] % width
            event = history[step_of, word]
            value, events, neuron = y.dtype.type(value_of(event)), bits_of(event), first_of(event, word)
            delay = (now - step_of) % slots
            while events:
                i = neuron + cuda.ffs(events) - 1
                events &= events - np.uint32(1)
                if i < rows:
                    low, high = csr_row(indptr, i * slots + delay, nse)
                    add_entries((data,), indices, low + first, high, step, value, y)

    return deliver_recent


# initial and y are the same memory.
def csr_event_arrivals(
    history: Any, data: Any, indices: Any, indptr: Any, slot: Any, initial: Any, y: Any, stream: Any
) -> None:
    """Launch the kernel for the encoding of the history."""
    slots, rows = history.shape[0], indptr.size - 1
    grid, span, team = Delivery.of(history.size, rows, indices.size)
    kernel = deliver_recent_with(team, ENCODINGS.get(np.dtype(history.dtype), FLAGS))
    words = history, data, indices, indptr, slot, np.int64(rows // slots), np.int32(span), y
    kernel[grid, BLOCK, stream](*words)


def in_fixed_order(outs: Any, rows: int) -> Callable[..., Any]:
    """Return the call that sorts all entries by their column."""

    def call(history: Any, data: Any, indices: Any, indptr: Any, slot: Any, initial: Any) -> Any:
        events = lagged(history, slot, rows, outs.dtype)
        return initial + event_sums(data.astype(outs.dtype), indices, indptr, events, outs)

    return call


def build(*, outs: Any, shape: tuple[int, int], deterministic: bool = False, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays; the longer rows are, the more threads share one."""
    if deterministic:
        return in_fixed_order(outs, shape[0])
    run = numba_cuda_callable(csr_event_arrivals, outs, input_output_aliases={5: 0})

    def call(history: Any, data: Any, *rest: Any) -> Any:
        return run(history, data.reshape(-1).astype(outs.dtype), *rest)

    return call

"""Histories on a GPU: reading the events in a word of one: bits, a flag, a number or a spike id."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import cuda

from event_ops.parts.numba_cuda.access import is_active, place

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

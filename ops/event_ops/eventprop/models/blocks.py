"""Blocks of neurons, which pass a segment of time all at once, in SIMD."""

import math
from typing import Any, Final, NamedTuple

import numpy as np

from event_ops.eventprop.entries import Table
from event_ops.kernels.numba_cpu.jit import REORDER, njit

ROOM: Final = 256  # neurons of a block


class Places(NamedTuple):
    """Hold where in a block its rows begin, each with a number for each of its neurons; states are at 0.

    They are rows of one array, whose distances a compiler knows, so that it sees that they do not overlap.
    `held`: 1 where states are held; `over`: what `reach` returns, or the derivative in the length of a
    segment; `after`: states; `parameters`; behind them, of a run backwards alone, `cotangents` of states,
    `time`, the derivative in when the segment behind begins, and those in parameters.
    """

    held: int
    over: int
    after: int
    parameters: int
    cotangents: int
    time: int
    of_parameters: int
    end: int

    @classmethod
    def of(cls, states: int, parameters: int) -> "Places":
        """Return the places for a model."""
        sizes = states, 1, 1, states, parameters, states, 1, parameters
        return cls(*(ROOM * sum(sizes[: k + 1]) for k in range(len(sizes))))


@njit
def new_blocks(state: Any, p: Any, place: int, size: int) -> Any:
    """Return the blocks of all neurons, with states, parameters from `place` on, and else 0."""
    neurons = state.shape[1]
    blocks = np.zeros(((neurons + ROOM - 1) // ROOM, size), state.dtype)
    for j in range(neurons):
        for k in range(state.shape[0]):
            blocks[j // ROOM, k * ROOM + j % ROOM] = state[k, j]
        for k in range(p.shape[0]):
            blocks[j // ROOM, place + k * ROOM + j % ROOM] = p[k, j]
    return blocks


@njit(_nrt=False)
def copy(to: Any, at: int, source: Any, place: int, size: int) -> None:
    """Copy numbers of one array to another."""
    for i in range(size):
        to[np.uintp(at + i)] = source[np.uintp(place + i)]


@njit(_nrt=False)
def add_row(to: Any, at: int, source: Any, place: int, size: int) -> None:
    """Add a range of one array to a range of another."""
    for i in range(size):
        to[np.uintp(at + i)] += source[np.uintp(place + i)]


@njit(_nrt=False, fastmath=REORDER)
def sum_of(x: Any, place: int, size: int) -> float:
    """Return a sum of numbers of an array, in double precision."""
    total = 0.0
    for i in range(size):
        total += float(x[np.uintp(place + i)])
    return total


@njit(_nrt=False)
def mark_held(w: Any, place: int, until: Any, first: int, size: int, end: float) -> None:
    """Put down which neurons are held through a segment."""
    for i in range(size):
        w[np.uintp(place + i)] = until[np.uintp(first + i)] > end


@njit(_nrt=False)
def mark_events(w: Any, place: int, until: Any, table: Table, first: int, size: int, end: float) -> None:
    """Put down 1 for neurons that are released in a segment, or at which something arrives alone."""
    one = w.dtype.type(1)
    for i in range(size):
        at, j = np.uintp(place + i), np.uintp(first + i)
        is_released = (until[j] <= end) & (until[j] > -math.inf)
        w[at] = one if is_released | (table.head[j] >= 0) else w[at]

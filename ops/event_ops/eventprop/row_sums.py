"""Sums of dense rows, in SIMD: they take the arrivals of a step to the states of all neurons at its end."""

from typing import Any, Final, NamedTuple

import numpy as np

from event_ops.eventprop.dynamics import Neuron
from event_ops.eventprop.forward import Step
from event_ops.eventprop.rows import Arrivals
from event_ops.kernels.numba_cpu.jit import INLINED, njit
from event_ops.kernels.numba_cpu.prefetch import prefetch
from event_ops.kernels.numba_cpu.simd import add_product, load, negative_part, over_columns, store, zeros

_SUMS: Final = 8  # how many instants of a step have a sum of their own
_ROWS: Final = 4  # and how many rows they have at least


class Sums(NamedTuple):
    """Hold sums of the rows of instants that have many, in `rows`, and all other rows, in `single`.

    `of`: for each instant the place of its sum; -1: none.
    """

    rows: Any
    of: Any
    single: Any


@njit
def new_sums(spikes: int, weights: Any) -> Sums:
    """Return room for the sums of a step in which at most `spikes` spikes arrive."""
    # Rows are visited in fours, the last of which are filled up.
    places = np.empty((2, spikes + 3), np.int32)
    return Sums(np.empty((_SUMS, weights.shape[1]), weights.dtype), places[0], places[1])


@njit(**INLINED)
def _added(sums: Any, values: Any, shares: Any, r: int) -> Any:
    """Return sums of V, I and the fall of V with one more row."""
    to_V, to_I, fall = sums
    return (
        add_product(to_V, shares[r, 0], values),
        add_product(to_I, shares[r, 1], values),
        add_product(fall, shares[r, 2], negative_part(values)),
    )


@over_columns
def _four(width: int) -> Any:
    """Return the function that adds up four rows from r on in `width` columns at once.

    It reads and writes sums once, and prefetches four rows from `ahead` on.
    """

    @njit(**INLINED)
    def four(
        begin: int, end: int, weights: Any, rows: Any, shares: Any, r: int, ahead: int, step: Step
    ) -> None:
        size = np.int64(weights.shape[1])
        a, b, c, d = rows[r] * size, rows[r + 1] * size, rows[r + 2] * size, rows[r + 3] * size
        for j in range(begin, end, width):
            for k in range(ahead, ahead + 4):
                prefetch(weights, rows[k] * size + j)
            sums = load(step.to_V, j, width), load(step.to_I, j, width), load(step.fall, j, width)
            sums = _added(sums, load(weights, a + j, width), shares, r)
            sums = _added(sums, load(weights, b + j, width), shares, r + 1)
            sums = _added(sums, load(weights, c + j, width), shares, r + 2)
            sums = _added(sums, load(weights, d + j, width), shares, r + 3)
            store(step.to_V, j, sums[0])
            store(step.to_I, j, sums[1])
            store(step.fall, j, sums[2])

    return four


@over_columns
def _instant(width: int) -> Any:
    """Return the function that adds up rows of an instant, whose `shares` are the same; also into `total`."""

    @njit(**INLINED)
    def instant(begin: int, end: int, weights: Any, rows: Any, shares: Any, total: Any, step: Step) -> None:
        size, one = np.int64(weights.shape[1]), weights.dtype.type(1)
        for j in range(begin, end, width):
            # Two sums each, which do not wait for each other.
            whole, lower = zeros(weights, width), zeros(weights, width)
            other, below = zeros(weights, width), zeros(weights, width)
            for r in range(0, rows.size - 1, 2):
                even = load(weights, rows[r] * size + j, width)
                odd = load(weights, rows[r + 1] * size + j, width)
                whole, lower = add_product(whole, one, even), add_product(lower, one, negative_part(even))
                other, below = add_product(other, one, odd), add_product(below, one, negative_part(odd))
            if rows.size % 2:
                last = load(weights, rows[rows.size - 1] * size + j, width)
                whole, lower = add_product(whole, one, last), add_product(lower, one, negative_part(last))
            whole, lower = add_product(whole, one, other), add_product(lower, one, below)
            store(total, j, whole)
            store(step.to_V, j, add_product(load(step.to_V, j, width), shares[0], whole))
            store(step.to_I, j, add_product(load(step.to_I, j, width), shares[1], whole))
            store(step.fall, j, add_product(load(step.fall, j, width), shares[2], lower))

    return instant


@njit(**INLINED)
def deliver(weights: Any, arrivals: Arrivals, instants: int, neuron: Neuron, sums: Sums, step: Step) -> None:
    """Add up the arrivals of a step: each is a row of weights times three numbers."""
    rows, shares, count, place = sums.single, arrivals.shares, 0, 0
    step.to_V[:] = 0
    step.to_I[:] = 0
    step.fall[:] = 0
    size = weights.shape[1]
    for q in range(instants):
        first, end = arrivals.starts[q], arrivals.starts[q + 1]
        is_sum = end - first >= _ROWS and place < _SUMS
        sums.of[q] = place if is_sum else -1
        for r in range(first, first + 1 if is_sum else end):
            c = count + r - first
            rows[c], shares[c, 0], shares[c, 1] = arrivals.rows[r], arrivals.left[2, q], arrivals.left[1, q]
            shares[c, 2] = -(neuron.dt - arrivals.times[q]) * neuron.rate_m
        if is_sum:
            _instant(size, weights, arrivals.rows[first:end], shares[count], sums.rows[place], step)
            place += 1
        else:
            count += end - first
    fours = count + -count % 4
    for r in range(count, fours):
        rows[r] = rows[count - 1]
        shares[r] = 0
    for r in range(0, fours, 4):
        _four(size, weights, rows, shares, r, min(r + 4, fours - 4), step)

"""Delivering events on a GPU: adding the rows of a CSR matrix whose events are active to a vector.

A block reads some events and notes the rows of active ones; its threads, in teams, take these in turn: the
fewer rows, the larger the teams.
"""

from functools import cache
from typing import Any, NamedTuple, Self

import numba
import numpy as np
from numba import cuda

from event_ops.kernels.numba_cuda.access import (
    active_value_for,
    is_inside,
    launched,
    positions_in,
    row_of_event_for,
    weight_for,
)
from event_ops.kernels.numba_cuda.row_products import csr_row
from event_ops.kernels.numba_cuda.threads import BLOCK, WARP, blocks_of, next_power_of_two

BLOCKS = 512  # enough to keep a large GPU busy: about four for each multiprocessor
ENTRIES_PER_PART = 64
ENTRIES_PER_THREAD = 2


class Delivery(NamedTuple):
    """A division of the work: `grid` is (blocks along the events, parts of every row)."""

    grid: tuple[int, int]
    span: int  # events that a block reads
    team: int  # threads that share the part of a row, or more: see `team_for`

    @classmethod
    def of(cls, positions: int, rows: int, entries: int) -> Self:
        """Return the division for `positions` of events of a matrix whose rows have its mean length."""
        length = entries // max(1, rows)
        span = min(BLOCK, WARP * max(1, blocks_of(positions, BLOCKS * WARP)))  # whole sectors of memory
        blocks = blocks_of(positions, span)
        parts = max(1, min(BLOCKS // max(1, blocks), length // ENTRIES_PER_PART))
        share = length // (parts * ENTRIES_PER_THREAD)
        return cls((blocks, parts), span, next_power_of_two(share, BLOCK))


@cuda.jit(device=True)
def note(row: Any, noted: Any, count: Any) -> Any:
    """Put rows, but not -1, into the block's `noted`; return how many. Every thread of a block calls it."""
    cuda.syncthreads()  # in a large batch a block takes several elements: wait for the one before
    if cuda.threadIdx.x == 0:
        count[0] = 0
    cuda.syncthreads()
    if row >= 0:
        noted[cuda.atomic.add(count, 0, 1)] = row
    cuda.syncthreads()
    return count[0]


@cuda.jit(device=True)
def team_for(rows: Any, least: Any) -> Any:
    """Return how many threads share a row where a block has `rows`: a power of two, at least `least`."""
    team = np.int32(BLOCK)
    # Few active rows get more threads each: else most of a block would have nothing to do.
    while team > least and rows * team > BLOCK:
        team //= 2
    return team


@cache
def make_add_entries(weight_of: Any) -> Any:
    """Return the device function for y[indices[k]] += weight_of(weights, k) * value.

    It takes every `step`-th k from `begin` up to `end`.
    """

    @cuda.jit(device=True)
    def add_entries(weights: Any, indices: Any, begin: Any, end: Any, step: Any, value: Any, y: Any) -> None:
        k = np.uint64(begin)
        while k < np.uint64(end):
            j, weight = indices[k], weight_of(weights, k)  # both loads are under way at once
            if is_inside(j, y.size):
                cuda.atomic.add(y, np.uint64(j), weight * value)
            k += np.uint64(step)

    return add_entries


@cache
def make_delivery(least: int, row_of: Any, row_in: Any, value_at: Any, weight_of: Any) -> Any:
    """Return the kernel `y[indices[k]] += weight of entry k * event` over the rows of active events.

    `structure` is what `row_of` reads.
    """
    add_entries = make_add_entries(weight_of)

    @cuda.jit
    def deliver_rows(
        data: Any, permutation: Any, indices: Any, structure: Any, rows: Any, events: Any, span: Any, y: Any
    ) -> None:
        noted, count = cuda.shared.array(BLOCK, numba.int64), cuda.shared.array(1, numba.int32)
        thread, row = cuda.threadIdx.x, -1
        # A span that is less than a block leaves threads without an event, which still help with rows.
        if thread < span:
            row = row_in(events, cuda.blockIdx.x * span + thread, rows)
        active = note(row, noted, count)
        team = team_for(active, least)
        first, step = cuda.blockIdx.y * team + thread % team, cuda.gridDim.y * team
        for place_of_row in range(thread // team, active, BLOCK // team):
            i = noted[place_of_row]
            value = y.dtype.type(value_at(events, i))
            low, high = row_of(structure, i, indices.size)
            add_entries((data, permutation), indices, low + first, high, step, value, y)

    return deliver_rows


def deliver(
    data: Any,
    indices: Any,
    structure: Any,
    rows: int,
    events: Any,
    y: Any,
    stream: Any,
    row_of: Any = csr_row,
    permutation: tuple[Any, ...] = (),
) -> None:
    """Launch `y += A.T @ events` for a flat y; within a function for `numba_cuda_callable`.

    Entry k has weight data[k], or data[p[k]] if `permutation` is (p,).
    """
    grid, span, team = Delivery.of(positions_in(events, rows), rows, indices.size)
    row_in, value_at = row_of_event_for(events.dtype), active_value_for(events.dtype)
    kernel = make_delivery(team, row_of, row_in, value_at, weight_for(permutation))
    weights = launched(data, *permutation)
    kernel[grid, BLOCK, stream](*weights, indices, structure, np.int64(rows), events, np.int32(span), y)

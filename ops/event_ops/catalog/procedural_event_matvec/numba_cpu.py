"""Event-driven product with a random matrix on the CPU: the rows of active events are generated, or all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import prange

from event_ops.parts.numba_cpu.access import hoist, weighted
from event_ops.parts.numba_cpu.bernoulli import (
    BLOCK,
    MIN_DRAWS_PARALLEL,
    draws_per_row,
    new_block,
    next_entries,
    parameters,
    scatter_row,
    tables,
    typed,
    weight_of,
)
from event_ops.parts.numba_cpu.events import active_ids, event_at, flags_of, lookup_of
from event_ops.parts.numba_cpu.jit import REORDER, njit, num_threads
from event_ops.parts.numba_cpu.split import add_up, clear, parts_for, private
from ffi_bridge import numba_kernel


@njit(fastmath=REORDER)
def gather_rows(
    weight: Any, seed: Any, table: Any, lookup: Any, size: int, y: Any, low: int, high: int
) -> None:
    """y[i] = sum over row i of weight * event of the column, for the rows from `low` to `high`."""
    weights, word, block, columns = parameters(weight), hoist(seed), new_block(), np.uint32(size)
    for row in range(np.uintp(low), np.uintp(high)):
        total, column, draw = y.dtype.type(0), np.uint32(0), np.uint32(0)
        while column < columns:
            count, column = next_entries(block, table, word, row, draw, column, columns)
            draw = np.uint32(draw + np.uint32(BLOCK))
            for k in range(count):
                j = block[0, k]
                entry = weight_of(weights, word, row, j, block[1, k])
                total += weighted(entry, event_at(lookup, np.uintp(j)))
        y[row] = total


@njit
def scatter_rows(weight: Any, seed: Any, table: Any, events: Any, ids: Any, y: Any) -> None:
    """y[column] += weight * event over the rows `ids`."""
    weights, word, block = parameters(weight), hoist(seed), new_block()
    for position in range(np.uintp(ids.size)):
        row = np.uintp(ids[position])
        scatter_row(weights, word, table, row, y.dtype.type(events[row]), y, block)


@njit
def matvec(weight: Any, seed: Any, table: Any, per_row: Any, events: Any, y: Any) -> None:
    gather_rows(weight, seed, table, lookup_of(events), events.size, y, 0, y.size)


@njit(parallel=True)
def matvec_parallel(weight: Any, seed: Any, table: Any, per_row: Any, events: Any, y: Any) -> None:
    lookup, parts = lookup_of(events), num_threads()
    for part in prange(parts):
        low, high = y.size * part // parts, y.size * (part + 1) // parts
        gather_rows(weight, seed, table, lookup, events.size, y, low, high)


@njit
def matvec_transposed(weight: Any, seed: Any, table: Any, per_row: Any, events: Any, y: Any) -> None:
    clear(y)
    ids = np.empty(events.size, np.uint32)
    scatter_rows(weight, seed, table, events, ids[: active_ids(flags_of(events), ids)], y)


@njit(parallel=True)
def matvec_transposed_parallel(weight: Any, seed: Any, table: Any, per_row: Any, events: Any, y: Any) -> None:
    clear(y)
    scratch = np.empty(events.size, np.uint32)
    ids = scratch[: active_ids(flags_of(events), scratch)]
    work = ids.size * per_row[0]
    parts = parts_for(work, y.size)
    if work < MIN_DRAWS_PARALLEL or parts == 1:
        scatter_rows(weight, seed, table, events, ids, y)
    else:
        spare = np.empty((parts - 1, y.size), y.dtype)
        for part in prange(parts):
            mine = private(y, spare, part)
            if part > 0:
                clear(mine)
            shared = ids[ids.size * part // parts : ids.size * (part + 1) // parts]
            scatter_rows(weight, seed, table, events, shared, mine)
        add_up(spare, y)


# (transposed, large) -> kernel
KERNELS = {
    (False, False): matvec,
    (False, True): matvec_parallel,
    (True, False): matvec_transposed,
    (True, True): matvec_transposed_parallel,
}


def build(
    *, outs: Any, prob: float, shape: tuple[int, int], distribution: str, transpose: bool, **_: Any
) -> Callable[..., Any]:
    """The callable for one matrix and orientation; the number of draws decides between one thread and all."""
    large = shape[0] * draws_per_row(prob, shape[1]) >= MIN_DRAWS_PARALLEL
    product = numba_kernel(KERNELS[transpose, large], outs)

    def call(weight: Any, seed: Any, events: Any) -> Any:
        return product(typed(weight, distribution), seed, *tables(prob, shape[1]), events)

    return call

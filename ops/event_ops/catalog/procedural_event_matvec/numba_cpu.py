"""Event-driven product with a random matrix on the CPU: the rows of active events are generated, or all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import prange

from event_ops.kernels.numba_cpu.access import hoist, weighted
from event_ops.kernels.numba_cpu.bernoulli import (
    MIN_DRAWS_PARALLEL,
    gather_kernels,
    new_block,
    parameters,
    product,
    scatter_row,
)
from event_ops.kernels.numba_cpu.events import event_at, listed_ids
from event_ops.kernels.numba_cpu.jit import njit
from event_ops.kernels.numba_cpu.split import add_up, clear, parts_for, private


@njit
def scatter_rows(weight: Any, seed: Any, table: Any, events: Any, ids: Any, y: Any) -> None:
    """y[column] += weight * event over the rows `ids`."""
    weights, word, block = parameters(weight), hoist(seed), new_block()
    for position in range(np.uintp(ids.size)):
        row = np.uintp(ids[position])
        scatter_row(weights, word, table, row, y.dtype.type(events[row]), y, block)


@njit
def matvec_transposed(weight: Any, seed: Any, table: Any, per_row: Any, events: Any, y: Any) -> None:
    clear(y)
    scatter_rows(weight, seed, table, events, listed_ids(events), y)


@njit(parallel=True)
def matvec_transposed_parallel(weight: Any, seed: Any, table: Any, per_row: Any, events: Any, y: Any) -> None:
    clear(y)
    ids = listed_ids(events)
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


def build(
    *, outs: Any, prob: float, shape: tuple[int, int], distribution: str, transpose: bool, **_: Any
) -> Callable[..., Any]:
    """Return the native call for one matrix and orientation."""
    gather = gather_kernels(weighted, event_at)
    scatter = matvec_transposed, matvec_transposed_parallel
    return product(scatter if transpose else gather, outs, prob, shape, distribution)

"""Delivering events: adding the rows of a CSR matrix whose events are active to a vector of the columns."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import prange

from event_ops.kernels.numba_cpu.access import at, hoist, weighted
from event_ops.kernels.numba_cpu.events import active_value, ids_of
from event_ops.kernels.numba_cpu.jit import REORDER, njit
from event_ops.kernels.numba_cpu.prefetch import ENDS_AHEAD, ROWS_AHEAD, prefetch_ends, prefetch_row
from event_ops.kernels.numba_cpu.split import MIN_PARALLEL, add_up, parts_for, private

# A matrix with fewer entries than this rarely has enough active ones in a step to be worth a parallel launch.
MIN_ENTRIES_PARALLEL = 1 << 20


@njit(fastmath=REORDER)
def add_rows(data: Any, indices: Any, indptr: Any, events: Any, ids: Any, y: Any) -> None:
    """y[indices[k]] += weight k * event over the rows `ids`."""
    weights = hoist(data)
    nse, columns = np.uintp(indices.size), np.uintp(y.size)
    for position in range(np.uintp(ids.size)):
        prefetch_ends(indptr, ids, position + ENDS_AHEAD)
        prefetch_row(weights, indices, indptr, ids, position + ROWS_AHEAD)
        i = np.uintp(ids[position])
        event = active_value(events, i)
        for k in range(min(np.uintp(indptr[i]), nse), min(np.uintp(indptr[i + np.uintp(1)]), nse)):
            j = np.uintp(indices[k])
            if j < columns:
                y[j] += weighted(at(weights, k), event)


@njit
def deliver(data: Any, indices: Any, indptr: Any, events: Any, y: Any) -> None:
    """y += A.T @ events, on one thread."""
    add_rows(data, indices, indptr, events, ids_of(events, indptr.size - 1), y)


@njit
def entries_up_to(indptr: Any, ids: Any) -> Any:
    """Return how many entries the first 0, 1, 2, ... rows of `ids` hold together."""
    ends = np.empty(ids.size + 1, np.int64)
    ends[0] = 0
    for position in range(np.uintp(ids.size)):
        prefetch_ends(indptr, ids, position + ENDS_AHEAD)
        i = np.uintp(ids[position])
        row = np.int64(indptr[i + np.uintp(1)]) - np.int64(indptr[i])
        ends[position + np.uintp(1)] = ends[position] + row
    return ends


# Inlined, since only the parallel regions of a kernel itself are entered without the GIL.
@njit(inline="always")
def deliver_parallel(data: Any, indices: Any, indptr: Any, events: Any, y: Any) -> None:
    """y += A.T @ events, on all threads if there are entries enough."""
    add_rows_parallel(data, indices, indptr, events, ids_of(events, indptr.size - 1), y)


@njit(inline="always")
def add_rows_parallel(data: Any, indices: Any, indptr: Any, events: Any, ids: Any, y: Any) -> None:
    """`add_rows` on all threads, if there are entries enough."""
    ends = entries_up_to(indptr, ids)
    work = ends[ids.size]
    parts = parts_for(work, y.size)
    if work < MIN_PARALLEL or parts == 1:
        add_rows(data, indices, indptr, events, ids, y)
    else:
        spare = np.empty((parts - 1, y.size), y.dtype)
        for part in prange(parts):
            low = np.searchsorted(ends, work * part // parts)
            high = np.searchsorted(ends, work * (part + 1) // parts)
            mine = private(y, spare, part)
            if part > 0:
                mine[:] = 0
            add_rows(data, indices, indptr, events, ids[low : ids.size if part + 1 == parts else high], mine)
        add_up(spare, y)

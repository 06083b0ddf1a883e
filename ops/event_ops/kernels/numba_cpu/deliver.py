"""Scattering along the rows of a sparse matrix: all rows, or the rows of active events, added up.

`ends` says where the entries of each row are, of a CSR matrix and of rows of equal length: see access.py.
"""

from typing import Any

import numpy as np
from numba import prange

from event_ops.kernels.numba_cpu.access import at, hoist, row_count, row_span, weighted
from event_ops.kernels.numba_cpu.events import active_value, ids_of
from event_ops.kernels.numba_cpu.jit import REORDER, njit
from event_ops.kernels.numba_cpu.prefetch import (
    ENDS_AHEAD,
    ROWS_AHEAD,
    is_far,
    prefetch_ends,
    prefetch_row,
    prefetch_stream,
    prefetch_targets,
)
from event_ops.kernels.numba_cpu.split import MIN_PARALLEL, add_up, parts_for, private

# A matrix with fewer entries than this rarely has enough active ones in a step to be worth a parallel launch.
MIN_ENTRIES_PARALLEL = 1 << 20

# Counts of entries only divide the work: no row has to end where the entries do.
NO_END = np.uintp(np.iinfo(np.uintp).max)


@njit(fastmath=REORDER)
def scatter_rows(data: Any, indices: Any, ends: Any, v: Any, y: Any, low: int, high: int) -> None:
    """y[indices[k]] += weight k * v[i] over row i, for the rows from `low` to `high`."""
    weights, nse, columns = hoist(data), np.uintp(indices.size), np.uintp(y.size)
    streamed, far = is_far(indices), is_far(y)
    prefetched = row_span(ends, np.uintp(low), nse)[0] if low < high else nse
    for i in range(np.uintp(low), np.uintp(high)):
        start, end = row_span(ends, i, nse)
        if streamed:
            prefetched = prefetch_stream(weights, indices, prefetched, end)
        if far:
            prefetch_targets(y, indices, start, end)
        value = v[i]
        for k in range(start, end):
            j = np.uintp(indices[k])
            if j < columns:
                y[j] += at(weights, k) * value


@njit(fastmath=REORDER)
def add_rows(data: Any, indices: Any, ends: Any, events: Any, ids: Any, y: Any) -> None:
    """y[indices[k]] += weight k * event over the rows `ids`."""
    weights = hoist(data)
    nse, columns = np.uintp(indices.size), np.uintp(y.size)
    for position in range(np.uintp(ids.size)):
        prefetch_ends(ends, ids, position + ENDS_AHEAD)
        prefetch_row(weights, indices, ends, ids, position + ROWS_AHEAD)
        i = np.uintp(ids[position])
        event = active_value(events, i)
        begin, end = row_span(ends, i, nse)
        for k in range(begin, end):
            j = np.uintp(indices[k])
            if j < columns:
                y[j] += weighted(at(weights, k), event)


@njit
def deliver(data: Any, indices: Any, ends: Any, events: Any, y: Any) -> None:
    """y += A.T @ events, on one thread."""
    add_rows(data, indices, ends, events, ids_of(events, row_count(ends)), y)


@njit
def entries_up_to(ends: Any, ids: Any) -> Any:
    """Return how many entries the first 0, 1, 2, ... rows of `ids` hold together."""
    totals = np.empty(ids.size + 1, np.int64)
    totals[0] = 0
    for position in range(np.uintp(ids.size)):
        prefetch_ends(ends, ids, position + ENDS_AHEAD)
        begin, end = row_span(ends, np.uintp(ids[position]), NO_END)
        totals[position + np.uintp(1)] = totals[position] + np.int64(end) - np.int64(begin)
    return totals


# Inlined, since only the parallel regions of a kernel itself are entered without the GIL.
@njit(inline="always")
def deliver_parallel(data: Any, indices: Any, ends: Any, events: Any, y: Any) -> None:
    """y += A.T @ events, on all threads if there are entries enough."""
    add_rows_parallel(data, indices, ends, events, ids_of(events, row_count(ends)), y)


@njit(inline="always")
def add_rows_parallel(data: Any, indices: Any, ends: Any, events: Any, ids: Any, y: Any) -> None:
    """`add_rows` on all threads, if there are entries enough."""
    totals = entries_up_to(ends, ids)
    work = totals[ids.size]
    parts = parts_for(work, y.size)
    if work < MIN_PARALLEL or parts == 1:
        add_rows(data, indices, ends, events, ids, y)
    else:
        spare = np.empty((parts - 1, y.size), y.dtype)
        for part in prange(parts):
            low = np.searchsorted(totals, work * part // parts)
            high = np.searchsorted(totals, work * (part + 1) // parts)
            # The last part takes all rows that are left, so that a corrupt row pointer leaves none out.
            mine = private(y, spare, part)
            if part > 0:
                mine[:] = 0
            add_rows(data, indices, ends, events, ids[low : ids.size if part + 1 == parts else high], mine)
        add_up(spare, y)

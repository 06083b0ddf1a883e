"""Event-driven CSR product on the CPU: rows of the active events, or for every row its active columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import get_num_threads, njit, prange

from event_ops.numba_parts.access import at, hoist, weighted
from event_ops.numba_parts.events import active_ids, event_at, flags_of, lookup_of
from event_ops.numba_parts.flags import REORDER
from event_ops.numba_parts.split import (
    MIN_PARALLEL,
    add_up,
    first_row,
    parts_for,
    private,
)
from ffi_bridge import numba_kernel

# A matrix with fewer entries than this rarely has enough active ones in a step to be worth a parallel launch.
MIN_ENTRIES_PARALLEL = 1 << 20


@njit(fastmath=REORDER)
def gather_rows(
    data: Any, indices: Any, indptr: Any, lookup: Any, size: int, y: Any, low: int, high: int
) -> None:
    """y[i] = sum over row i of the weights whose column is active, for the rows from `low` to `high`."""
    weights = hoist(data)
    nse, columns = np.uintp(indices.size), np.uintp(size)
    for i in range(np.uintp(low), np.uintp(high)):
        total = y.dtype.type(0)
        for k in range(min(np.uintp(indptr[i]), nse), min(np.uintp(indptr[i + np.uintp(1)]), nse)):
            j = np.uintp(indices[k])
            if j < columns:
                total += weighted(at(weights, k), event_at(lookup, j))
        y[i] = total


@njit(fastmath=REORDER)
def scatter_rows(data: Any, indices: Any, indptr: Any, events: Any, ids: Any, y: Any) -> None:
    """y[indices[k]] += weight k over the rows `ids`."""
    weights = hoist(data)
    nse, columns = np.uintp(indices.size), np.uintp(y.size)
    for position in range(np.uintp(ids.size)):
        i = np.uintp(ids[position])
        event = events[i]
        for k in range(min(np.uintp(indptr[i]), nse), min(np.uintp(indptr[i + np.uintp(1)]), nse)):
            j = np.uintp(indices[k])
            if j < columns:
                y[j] += weighted(at(weights, k), event)


@njit
def matvec(data: Any, indices: Any, indptr: Any, events: Any, y: Any) -> None:
    rows = indptr.size - 1
    gather_rows(data, indices, indptr, lookup_of(events), events.size, y, 0, rows)


@njit(parallel=True)
def matvec_parallel(data: Any, indices: Any, indptr: Any, events: Any, y: Any) -> None:
    lookup = lookup_of(events)
    parts = get_num_threads()
    for part in prange(parts):
        low, high = first_row(indptr, part, parts), first_row(indptr, part + 1, parts)
        gather_rows(data, indices, indptr, lookup, events.size, y, low, high)


@njit
def deliver(data: Any, indices: Any, indptr: Any, events: Any, ids: Any, y: Any) -> None:
    """y = the sum of the rows `ids`, on one thread."""
    y[:] = 0
    scatter_rows(data, indices, indptr, events, ids, y)


@njit
def matvec_transposed(data: Any, indices: Any, indptr: Any, events: Any, y: Any) -> None:
    ids = np.empty(events.size, np.uint32)
    deliver(data, indices, indptr, events, ids[: active_ids(flags_of(events), ids)], y)


@njit
def entries_up_to(indptr: Any, ids: Any) -> Any:
    """How many entries the first 0, 1, 2, ... rows of `ids` hold together."""
    ends = np.empty(ids.size + 1, np.int64)
    ends[0] = 0
    for position in range(np.uintp(ids.size)):
        i = np.uintp(ids[position])
        row = np.int64(indptr[i + np.uintp(1)]) - np.int64(indptr[i])
        ends[position + np.uintp(1)] = ends[position] + row
    return ends


@njit(parallel=True)
def matvec_transposed_parallel(data: Any, indices: Any, indptr: Any, events: Any, y: Any) -> None:
    scratch = np.empty(events.size, np.uint32)
    ids = scratch[: active_ids(flags_of(events), scratch)]
    ends = entries_up_to(indptr, ids)
    work = ends[ids.size]
    if work < MIN_PARALLEL:
        deliver(data, indices, indptr, events, ids, y)
    else:
        parts = parts_for(work, y.size)
        spare = np.empty((parts - 1, y.size), y.dtype)
        for part in prange(parts):
            low = np.searchsorted(ends, work * part // parts)
            high = np.searchsorted(ends, work * (part + 1) // parts)
            mine = ids[low : ids.size if part + 1 == parts else high]
            deliver(data, indices, indptr, events, mine, private(y, spare, part))
        add_up(spare, y)


# (transposed, large) -> kernel
KERNELS = {
    (False, False): matvec,
    (False, True): matvec_parallel,
    (True, False): matvec_transposed,
    (True, True): matvec_transposed_parallel,
}


def generator(*, outs: Any, transpose: bool, **_: Any) -> Callable[..., Any]:
    """The callable for one orientation; the number of entries decides between one thread and all."""

    def call(data: Any, indices: Any, indptr: Any, events: Any) -> Any:
        large = indices.size >= (MIN_ENTRIES_PARALLEL if transpose else MIN_PARALLEL)
        return numba_kernel(KERNELS[transpose, large], outs)(data, indices, indptr, events)

    return call

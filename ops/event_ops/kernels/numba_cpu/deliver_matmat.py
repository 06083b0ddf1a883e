"""Scattering along the rows of a sparse matrix where a matrix of events has active ones."""

from functools import cache
from typing import Any

import numpy as np
from numba import prange

from event_ops.kernels.numba_cpu.access import at, hoist, row_span, weighted
from event_ops.kernels.numba_cpu.deliver import NO_END
from event_ops.kernels.numba_cpu.events import active_ids, flags_of
from event_ops.kernels.numba_cpu.jit import REORDER, njit, one_and_all
from event_ops.kernels.numba_cpu.matmat import make_scattered_row
from event_ops.kernels.numba_cpu.simd import add_weighted
from event_ops.kernels.numba_cpu.split import MIN_PARALLEL, add_up, clear, parts_for, private

# Adding whole rows of events, silent ones too, vectorises: it is faster if one in so many is active.
DENSE_FROM = np.uintp(8)


@njit(fastmath=REORDER)
def add_column(weights: Any, indices: Any, low: Any, high: Any, event: Any, y: Any, c: Any) -> None:
    """y[indices[k], c] += weight k * event for the entries from `low` to `high`."""
    for k in range(low, high):
        j = np.uintp(indices[k])
        if j < np.uintp(y.shape[0]):
            y[j, c] += weighted(at(weights, k), event)


@njit
def terms_up_to(ends: Any, ids: Any, n: int) -> Any:
    """Return how many terms the first 0, 1, 2, ... of the active events `ids` contribute together."""
    totals = np.empty(ids.size + 1, np.int64)
    totals[0] = 0
    for position in range(np.uintp(ids.size)):
        i = np.uintp(ids[position]) // np.uintp(n)
        begin, end = row_span(ends, i, NO_END)
        totals[position + np.uintp(1)] = totals[position] + np.int64(end) - np.int64(begin)
    return totals


@njit
def share(totals: Any, ids: Any, n: int, part: int, parts: int) -> int:
    """Return where one of `parts` shares of about equal work begins in `ids`: at the first event of a row."""
    if part == parts:
        return ids.size
    # Whole rows: the events of a row are added in one pass over its entries.
    start = np.searchsorted(totals, totals[ids.size] * part // parts)
    while 0 < start < ids.size and ids[start] // n == ids[start - 1] // n:
        start += 1
    return min(start, ids.size)


def make_add_rows(widths: tuple[int, ...]) -> Any:
    """Return the kernel `y += A.T @ events`, where `ids` are the active places in the flattened `events`."""
    add_row = make_scattered_row(add_weighted, widths)

    @njit
    def add_rows(data: Any, indices: Any, ends: Any, events: Any, ids: Any, y: Any) -> None:
        weights = hoist(data)
        nse, n = np.uintp(indices.size), np.uintp(events.shape[1])
        position, count = np.uintp(0), np.uintp(ids.size)
        while position < count:
            first = np.uintp(ids[position])
            i, begin = first // n, position
            while position < count and np.uintp(ids[position]) < (i + np.uintp(1)) * n:
                position += np.uintp(1)
            low, high = row_span(ends, i, nse)
            if (position - begin) * DENSE_FROM > n:
                add_row(weights, indices, low, high, events, y, i, np.uintp(0))
            else:
                for other in range(begin, position):
                    c = np.uintp(ids[other]) - i * n
                    add_column(weights, indices, low, high, events[i, c], y, c)

    return add_rows


@cache
def make_delivery(widths: tuple[int, ...]) -> tuple[Any, Any]:
    """Return the kernels of Y = A.T @ events for one thread and for all."""
    add_rows = make_add_rows(widths)

    @one_and_all
    def matmat_transposed(large: bool) -> Any:
        def deliver_rows(data: Any, indices: Any, ends: Any, events: Any, y: Any) -> None:
            scratch, n = np.empty(events.size, np.uintp), events.shape[1]
            ids = scratch[: active_ids(flags_of(events).reshape(-1), scratch)]
            totals = terms_up_to(ends, ids, n) if large else ids
            work = totals[ids.size] if large else 0
            if not large or work < MIN_PARALLEL:
                clear(y)
                add_rows(data, indices, ends, events, ids, y)
            else:
                parts = parts_for(work, y.size)
                spare = np.empty((parts - 1, *y.shape), y.dtype)
                for part in prange(parts):
                    mine = private(y, spare, part)
                    clear(mine)
                    low, high = share(totals, ids, n, part, parts), share(totals, ids, n, part + 1, parts)
                    add_rows(data, indices, ends, events, ids[low:high], mine)
                add_up(spare, y)

        return deliver_rows

    return matmat_transposed

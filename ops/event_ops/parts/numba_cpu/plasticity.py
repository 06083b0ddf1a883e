"""Changing the weights of neurons that spiked, in place: the entries of a row, or those of a column."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numba import prange

from event_ops.parts.numba_cpu.access import at, weighted
from event_ops.parts.numba_cpu.deliver import entries_up_to
from event_ops.parts.numba_cpu.events import listed_ids
from event_ops.parts.numba_cpu.jit import njit, num_threads
from event_ops.parts.numba_cpu.prefetch import ROWS_AHEAD, prefetch, prefetch_row
from event_ops.parts.numba_cpu.split import MIN_PARALLEL

# How many entries of a row come between two moments at which the weights of as many later ones are asked for.
AT_ONCE: Final = np.uintp(64)


@njit
def entry(places: Any, p: Any) -> Any:
    """Return where the weight of entry p is: at places[p], or at p where places is None."""
    if places is None:
        return p
    return np.uintp(places[p])


@njit
def prefetch_entries(w: Any, indices: Any, indptr: Any, places: Any, ids: Any, position: Any) -> None:
    """Ask for what the rows after ids[position] need: places before the weights that they point at."""
    if places is None:
        prefetch_row(w, indices, indptr, ids, position + ROWS_AHEAD)
    else:
        prefetch_row(places, indices, indptr, ids, position + ROWS_AHEAD)
        if position + np.uintp(1) < np.uintp(ids.size):
            i, nse = np.uintp(ids[position + np.uintp(1)]), np.uintp(indices.size)
            begin, end = min(np.uintp(indptr[i]), nse), min(np.uintp(indptr[i + np.uintp(1)]), nse)
            prefetch_weights(w, places, begin, end)


@njit(_nrt=False)
def prefetch_weights(w: Any, places: Any, begin: Any, end: Any) -> None:
    """Ask for the weights that AT_ONCE entries from `begin` on point at, but none from `end` on."""
    if places is not None:
        for p in range(begin, min(begin + AT_ONCE, end)):
            prefetch(w, np.uintp(places[p]))


@njit
def bounded(value: Any, low: Any, high: Any) -> Any:
    """Return the nearest value in [low, high]; NaN stays NaN."""
    above = low if value < low else value
    return high if above > high else above


@njit
def move_rows(
    w: Any, indices: Any, indptr: Any, places: Any, events: Any, x: Any, rule: Any, ids: Any
) -> None:
    """w += amount * event * x[index], within the bounds, for the entries of the rows `ids`.

    The rule is the amount and the bounds, each as `hoist` gives it: one for all weights or one for each.
    """
    amount, low, high = rule
    nse, size = np.uintp(indices.size), np.uintp(x.size)
    for position in range(np.uintp(ids.size)):
        prefetch_entries(w, indices, indptr, places, ids, position)
        i = np.uintp(ids[position])
        event = events[i]
        begin, end = min(np.uintp(indptr[i]), nse), min(np.uintp(indptr[i + np.uintp(1)]), nse)
        for first in range(begin, end, AT_ONCE):
            later = min(first + AT_ONCE, end)
            prefetch_weights(w, places, later, end)
            for p in range(first, later):
                j, k = np.uintp(indices[p]), entry(places, p)
                if j < size and k < nse:
                    step = weighted(at(amount, k), event)
                    w[k] = bounded(w[k] + step * x[j], at(low, k), at(high, k))


@njit
def move(w: Any, indices: Any, indptr: Any, places: Any, events: Any, x: Any, rule: Any) -> None:
    """Apply `move_rows` to the rows whose events are active, on one thread."""
    ids = listed_ids(events)
    move_rows(w, indices, indptr, places, events, x, rule, ids)


# Inlined, since only the parallel regions of a kernel itself are entered without the GIL.
@njit(inline="always")
def move_parallel(w: Any, indices: Any, indptr: Any, places: Any, events: Any, x: Any, rule: Any) -> None:
    """Apply `move` on all threads, if there are entries enough: no two rows share a weight."""
    ids = listed_ids(events)
    ends = entries_up_to(indptr, ids)
    work = ends[ids.size]
    if work < MIN_PARALLEL:
        move_rows(w, indices, indptr, places, events, x, rule, ids)
    else:
        parts = num_threads()
        for part in prange(parts):
            low = np.searchsorted(ends, work * part // parts)
            high = np.searchsorted(ends, work * (part + 1) // parts)
            mine = ids[low : ids.size if part + 1 == parts else high]
            move_rows(w, indices, indptr, places, events, x, rule, mine)

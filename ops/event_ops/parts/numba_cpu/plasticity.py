"""Changing the weights of rows that spiked by steps in proportion to their spikes, within bounds."""

from __future__ import annotations

from typing import Any

import numpy as np

from event_ops.parts.numba_cpu.access import at, weighted
from event_ops.parts.numba_cpu.blocks import AT_ONCE
from event_ops.parts.numba_cpu.jit import njit
from event_ops.parts.numba_cpu.sparse_visits import entry, is_stored, prefetch_entries, prefetch_weights


@njit
def bounded(value: Any, low: Any, high: Any) -> Any:
    """Return the nearest value in [low, high]; NaN stays NaN."""
    above = low if value < low else value
    return high if above > high else above


@njit
def move_rows(
    synapses: Any, indices: Any, indptr: Any, places: Any, limit: Any, variables: Any, ids: Any
) -> None:
    """w[k] += amount * event[i] * x[j], within the bounds, for each entry of the rows `ids`.

    Amount and bounds are as `hoist` gives them. A row reads its event once, which `rows_with` would not.
    """
    (w,) = synapses
    events, x, amount, lowest, highest = variables
    nse, size = np.uintp(indices.size), np.uintp(limit)
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
                if j < size and is_stored(places, k, nse):
                    step = weighted(at(amount, k), event)
                    w[k] = bounded(w[k] + step * x[j], at(lowest, k), at(highest, k))

"""Delivering events through an ELLPACK matrix: adding its rows whose events are active to a vector."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.extending import overload

from event_ops.numba_parts.access import at, weighted
from event_ops.numba_parts.flags import REORDER
from event_ops.numba_parts.jit import njit
from event_ops.numba_parts.prefetch import ENTRIES_AHEAD, ROWS_AHEAD, prefetch_range


def flat(data: Any) -> Any:
    """The weights in one row, or the one weight that stands for all: what `at` reads."""
    return data.reshape(-1) if np.ndim(data) else data[()]


@overload(flat, strict=False)
def _flat(data: Any) -> Any:
    if not isinstance(data, types.Array):  # inside prange Numba has turned a 0-d array into its value
        return lambda data: data
    if data.ndim == 0:
        return lambda data: data[()]
    return lambda data: data.reshape(-1)


@njit(fastmath=REORDER)
def add_rows(data: Any, indices: Any, events: Any, ids: Any, y: Any) -> None:
    """y[indices[i, k]] += weight (i, k) * event i over the rows `ids`."""
    weights, targets = flat(data), indices.reshape(-1)
    per_row, columns = np.uintp(indices.shape[1]), np.uintp(y.size)
    ahead = min(per_row, ENTRIES_AHEAD)
    for position in range(np.uintp(ids.size)):
        if position + ROWS_AHEAD < np.uintp(ids.size):
            later = np.uintp(ids[position + ROWS_AHEAD]) * per_row
            prefetch_range(targets, later, later + ahead)
            prefetch_range(weights, later, later + ahead)
        i = np.uintp(ids[position])
        event = events[i]
        for k in range(i * per_row, (i + np.uintp(1)) * per_row):
            j = np.uintp(targets[k])
            if j < columns:
                y[j] += weighted(at(weights, k), event)

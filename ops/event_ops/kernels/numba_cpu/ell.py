"""Products of an ELLPACK matrix and a vector: a sum for each row, or the rows of active events added up."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numba import types
from numba.extending import overload

from event_ops.kernels.numba_cpu.access import at, hoist, weighted
from event_ops.kernels.numba_cpu.jit import REORDER, njit
from event_ops.kernels.numba_cpu.prefetch import (
    ENTRIES_AHEAD,
    ROWS_AHEAD,
    is_far,
    is_far_to_read,
    prefetch_range,
    prefetch_stream,
    prefetch_targets,
)


def flat(data: Any) -> Any:
    """Return the weights in one row, or the single weight: what `at` reads."""
    return data.reshape(-1) if np.ndim(data) else hoist(data)


@overload(flat, strict=False)
def _flat(data: Any) -> Any:
    if isinstance(data, types.Array) and data.ndim:
        return lambda data: data.reshape(-1)
    return lambda data: hoist(data)


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


@cache
def gather_rows_with(row_sum: Any) -> Any:
    """Return the kernel of `gather.gather_rows_with` for ELLPACK: rows of equal length, one after another."""

    @njit
    def gather_rows(data: Any, indices: Any, values: Any, y: Any, low: int, high: int) -> None:
        weights, targets, per_row = flat(data), indices.reshape(-1), np.uintp(indices.shape[1])
        zero, columns = y.dtype.type(0), np.uintp(values.size)
        streamed, far, asked = is_far(indices), is_far_to_read(values), np.uintp(low) * per_row
        for i in range(np.uintp(low), np.uintp(high)):
            begin, end = i * per_row, (i + np.uintp(1)) * per_row
            if streamed:
                asked = prefetch_stream(weights, targets, asked, end)
            if far:
                prefetch_targets(values, targets, begin, end)
            y[i] = row_sum(weights, targets, values, columns, begin, end, zero)

    return gather_rows

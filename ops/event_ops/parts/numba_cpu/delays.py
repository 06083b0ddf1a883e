"""Delivering events after a delay: adding rows of a CSR matrix to slots of a ring buffer."""

from __future__ import annotations

from typing import Any

import numpy as np

from event_ops.parts.numba_cpu.access import at, hoist, weighted
from event_ops.parts.numba_cpu.event_ids import active_value
from event_ops.parts.numba_cpu.flags import REORDER
from event_ops.parts.numba_cpu.jit import njit
from event_ops.parts.numba_cpu.prefetch import (
    ENTRIES_AHEAD,
    ROWS_AHEAD,
    is_far,
    prefetch,
    prefetch_range,
    prefetch_row,
)

# Asked for a row after its entries, which by then have arrived, and one before its use.
ENTRIES_ROWS_AHEAD = ROWS_AHEAD + np.uintp(1)
TARGETS_ROWS_AHEAD = np.uintp(1)


@njit
def prefetch_delayed_row(
    weights: Any, steps: Any, indices: Any, indptr: Any, ids: Any, position: Any
) -> None:
    """Ask for the beginning of the row ids[position], its weights and delays, if there is such a row."""
    if position < np.uintp(ids.size):
        prefetch_row(weights, indices, indptr, ids, position)
        low = np.uintp(indptr[np.uintp(ids[position])])
        prefetch_range(steps, low, min(low + ENTRIES_AHEAD, np.uintp(indices.size)))


@njit
def ending(now: Any, delay: Any, slots: Any) -> Any:
    """The slot in which a delay ends; now and delay < slots."""
    slot = now + delay
    return slot - slots * np.uintp(slot >= slots)


@njit
def prefetch_targets(
    steps: Any, indices: Any, indptr: Any, ids: Any, position: Any, now: Any, y: Any
) -> None:
    """Ask for what the entries of the row ids[position] add to, if there is such a row."""
    if position < np.uintp(ids.size):
        i, nse = np.uintp(ids[position]), np.uintp(indices.size)
        flat, slots, columns = y.reshape(-1), np.uintp(y.shape[0]), np.uintp(y.shape[1])
        for k in range(min(np.uintp(indptr[i]), nse), min(np.uintp(indptr[i + np.uintp(1)]), nse)):
            place = ending(now, np.uintp(at(steps, k)), slots) * columns + np.uintp(indices[k])
            prefetch(flat, place)


@njit(fastmath=REORDER)
def add_delayed_rows(
    data: Any, indices: Any, indptr: Any, delays: Any, spikes: Any, ids: Any, now: Any, y: Any
) -> None:
    """y[(now + delays[k]) % slots, indices[k]] += weight k * spike over the rows `ids`; now < slots."""
    weights, steps, far = hoist(data), hoist(delays), is_far(y)
    nse, slots, columns = np.uintp(indices.size), np.uintp(y.shape[0]), np.uintp(y.shape[1])
    for position in range(np.uintp(ids.size)):
        prefetch_delayed_row(weights, steps, indices, indptr, ids, position + ENTRIES_ROWS_AHEAD)
        if far:
            prefetch_targets(steps, indices, indptr, ids, position + TARGETS_ROWS_AHEAD, now, y)
        i = np.uintp(ids[position])
        spike = active_value(spikes, i)
        for k in range(min(np.uintp(indptr[i]), nse), min(np.uintp(indptr[i + np.uintp(1)]), nse)):
            # As unsigned numbers negative delays and columns are too large, like those that are.
            delay, j = np.uintp(at(steps, k)), np.uintp(indices[k])
            if delay < slots and j < columns:
                y[ending(now, delay, slots), j] += weighted(at(weights, k), spike)

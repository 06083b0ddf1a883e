"""Histories of flags in the other forms in which an operator takes them."""

from __future__ import annotations

import numpy as np

from event_ops.cases.draw import Draw, Shape


def drawn_history(draw: Draw, shape: Shape, rate: float, events: str) -> tuple[np.ndarray, dict[str, str]]:
    """Return a history of (slots, rows), and its encoding; `events` is "bits", "ids" or a kind of events."""
    kind = "bool" if events in ("bits", "ids") else events
    history = draw.events(shape[0] * shape[1], rate, kind).reshape(shape)
    if events == "bits":
        return packed_rows(history), {"encoding": "bits"}
    if events == "ids":
        return listed(history, shape[1]), {"encoding": "ids"}
    return history, {"encoding": "counts"} if history.dtype.kind in "iu" else {}


def packed_rows(flags: np.ndarray) -> np.ndarray:
    """Return the rows of flags as words of 32 bits."""
    wide = np.pad(flags, ((0, 0), (0, -flags.shape[1] % 32)))
    return np.packbits(wide, axis=1, bitorder="little").view(np.uint32)


def listed(flags: np.ndarray, capacity: int) -> np.ndarray:
    """Return the rows of flags as the spike ids that `spike_compact` lists."""
    ids = np.full((len(flags), capacity), flags.shape[1], np.int32)
    for row, active in zip(ids, flags, strict=True):
        found = np.flatnonzero(active)[:capacity]
        row[: found.size] = found
    return ids

"""Histories of flags in the other forms in which an operator takes them."""

from __future__ import annotations

import numpy as np


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

"""What memory can deliver: the STREAM triad `a = b + s * c` on all threads."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Final

import numba
import numpy as np

from event_ops_harness.bench.timing import repeated, seconds_per_step

_UNKNOWN_CACHE: Final = 64 << 20
_UNITS: Final = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


@numba.njit(parallel=True)
def _triad(a: Any, b: Any, c: Any, s: float) -> None:
    for i in numba.prange(a.size):
        a[i] = b[i] + s * c[i]


def bytes_per_second(footprint: int, rounds: int = 5) -> float:
    """Best bandwidth over three arrays of float64 that take `footprint` bytes together.

    Counted as STREAM counts: two reads and a write, not the read that a write into a cache begins with.
    """
    size = max(1, footprint // 24)
    a, b, c = (np.ones(size) for _ in range(3))
    best = seconds_per_step({"": repeated(lambda: _triad(a, b, c, 3.0))}, rounds=rounds, budget=0.2)
    return 24 * size / best[""]


def beyond_cache() -> int:
    """Bytes that no cache holds: each array four times the largest one, or a sixteenth of the memory."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return 3 * min(4 * last_level_cache(), memory // 16)


def last_level_cache() -> int:
    """Bytes of the largest cache that the system reports; 64 MiB where it reports none."""
    caches = Path("/sys/devices/system/cpu/cpu0/cache").glob("index*/size")
    return max((_parsed(path.read_text().strip()) for path in caches), default=_UNKNOWN_CACHE)


def _parsed(size: str) -> int:
    unit = _UNITS.get(size[-1:], 1)
    return int(size.rstrip("KMG") or 0) * unit

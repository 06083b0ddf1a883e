"""Requests for shared memory, and the wavefronts that bank conflicts make of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ptx_on_cpu.counters.traces import Trace, begins, issued, order_by, total
from ptx_on_cpu.records import ATOMIC, WARP

BANKS: Final = 32  # of 4 bytes


@dataclass(frozen=True)
class Wavefronts:
    """Requests for shared memory by instruction, their wavefronts, and the wavefronts without conflicts."""

    requests: NDArray[np.int64]
    wavefronts: NDArray[np.int64]
    ideal: NDArray[np.int64]


def wavefronts_of(accesses: Trace, length: int) -> Wavefronts:
    """Count sum over phases of max over banks of distinct words, for each of `length` instructions.

    A request of 8 bytes per lane is served in two phases by half warps, one of 16 bytes in four by quarter
    warps; the ideal is one wavefront for each phase with active lanes. Lanes that ask for the same word share
    it, except in atomics, whose updates of one word follow one another.
    Source: CUDA C++ Programming Guide, "Shared Memory" of compute capabilities 5.x and later.
    """
    words = np.maximum(accesses["size"] // 4, 1).astype(np.int64)
    rows = np.repeat(accesses, words)
    part = np.arange(len(rows)) - np.repeat(np.cumsum(words) - words, words)
    word = rows["address"].astype(np.int64) // 4 + part
    phase = rows["rank"] % WARP * np.repeat(words, words) // WARP
    warp = issued(rows, "pc")
    order = order_by(warp, rows["moment"], phase, word)
    rows, warp, phase, word = rows[order], warp[order], phase[order], word[order]
    new = begins(warp, rows["moment"], phase)
    counted = new | begins(word) | (rows["kind"] == ATOMIC)
    slot = (np.cumsum(new) - 1) * BANKS + word % BANKS
    taken, times = np.unique(slot[counted], return_counts=True)
    slowest = np.maximum.reduceat(times, np.flatnonzero(begins(taken // BANKS)))
    pc = rows["pc"][new]
    return Wavefronts(
        np.bincount(rows["pc"][begins(warp, rows["moment"])], minlength=length),
        total(pc, slowest, length),
        np.bincount(pc, minlength=length),
    )

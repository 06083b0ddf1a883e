"""Requests for global and local memory, and the 32-byte sectors that they move."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ptx_on_cpu.counters.traces import Flags, Trace, begins, issued, order_by
from ptx_on_cpu.records import LOAD, STORE, WARP

SECTOR: Final = 32  # bytes


@dataclass(frozen=True)
class Transfers:
    """Requests, bytes that they asked for (each once per request), and sectors that they moved."""

    requests: int
    asked: int
    sectors: int

    @property
    def moved(self) -> int:
        """Return 32 * sectors, in bytes."""
        return SECTOR * self.sectors

    @property
    def sectors_per_request(self) -> float:
        """Return sectors / requests, 0 without requests."""
        return self.sectors / self.requests if self.requests else 0.0

    @property
    def efficiency(self) -> float:
        """Return asked / moved, 1 without requests."""
        return self.asked / self.moved if self.sectors else 1.0


@dataclass(frozen=True)
class Requests:
    """Accesses in the order of requests and addresses, with the bytes and sectors that each row adds."""

    rows: Trace
    new: Flags  # the first row of a request
    asked: NDArray[np.int64]  # bytes that no row before it in the request has asked for
    sectors: Flags  # the first row of the request in its sector


def requests_of(accesses: Trace) -> Requests:
    """Group accesses into requests: one per warp, instruction and moment.

    A request moves the distinct sectors in which its lanes are active, as "sectors per request" of Nsight
    Compute counts them: 4, 8 or 16 where 32 lanes ask for 4, 8 or 16 consecutive bytes each. That hardware
    serves wide requests by half or quarter warps makes more wavefronts of them, and neither more requests
    nor, unless parts of the warp share sectors, more sectors. Accesses have to be aligned to their size, as
    a GPU demands.
    """
    warp = issued(accesses, "pc")
    order = order_by(warp, accesses["moment"], accesses["address"])
    rows, warp = accesses[order], warp[order]
    address, size = rows["address"], rows["size"].astype(np.int64)
    new = begins(warp, rows["moment"])
    asked = size.copy()
    # All sizes of a request are equal, so only the row before can overlap.
    step = np.minimum(np.diff(address), np.uint64(2**16)).astype(np.int64)
    asked[1:] = np.where(new[1:], size[1:], np.minimum(size[1:], step))
    return Requests(rows, new, asked, new | begins(address // SECTOR))


def interleaved(accesses: Trace) -> Trace:
    """Return accesses to local memory where hardware puts them: word w of lane l is word 32 * w + l.

    So lanes that access the same offset are coalesced. Wide accesses become one row per word.
    Source: CUDA C++ Programming Guide, "Local Memory".
    """
    words = np.maximum(accesses["size"] // 4, 1)
    rows = np.repeat(accesses, words)
    part = np.arange(len(rows)) - np.repeat(np.cumsum(words, dtype=np.int64) - words, words)
    word = rows["address"] // 4 + part.astype(np.uint64)
    rows["address"] = 4 * (WARP * word + rows["rank"] % WARP)
    rows["size"] = np.minimum(rows["size"], 4)
    return rows


def distinct_sectors(accesses: Trace) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Return the sectors that a launch reads, and the sectors that it writes; atomics do both."""
    sector = accesses["address"] // SECTOR
    return np.unique(sector[accesses["kind"] != STORE]), np.unique(sector[accesses["kind"] != LOAD])

"""Requests for global and local memory, and the 32-byte sectors that they move."""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ptx_on_cpu.counters.traces import Flags, Trace, begins, issued, order_by, total
from ptx_on_cpu.records import ATOMIC, LOAD, SHARED, STORE, WARP

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
    # Between requests the difference of unsigned addresses wraps; it is not used there.
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
    # Lanes share a word that stands next to itself in this order, except in atomics.
    counted = new | begins(word) | (rows["kind"] == ATOMIC)
    slot = (np.cumsum(new) - 1) * BANKS + word % BANKS
    taken, times = np.unique(slot[counted], return_counts=True)
    # The slots of a phase stand together: each begins at a multiple of the banks.
    slowest = np.maximum.reduceat(times, np.flatnonzero(begins(taken // BANKS)))
    pc = rows["pc"][new]
    return Wavefronts(
        np.bincount(rows["pc"][begins(warp, rows["moment"])], minlength=length),
        total(pc, slowest, length),
        np.bincount(pc, minlength=length),
    )


@dataclass(frozen=True)
class Contention:
    """Counts of atomic updates of global or shared memory, and of updates that meet at one address."""

    requests: int
    updates: int  # one per active lane
    addresses: int  # distinct ones, in the whole launch
    most: int  # updates of one address, in the whole launch
    in_requests: int  # distinct pairs of a request and an address
    most_in_request: int  # updates of one address by one request

    @property
    def mean(self) -> float:
        """Return updates / addresses, 0 without updates."""
        return self.updates / self.addresses if self.updates else 0.0

    @property
    def mean_in_request(self) -> float:
        """Return the mean number of lanes of a request that update the same address, 0 without updates."""
        return self.updates / self.in_requests if self.updates else 0.0


def contention_of(atomics: Trace) -> Contention:
    """Count the updates of each address, in each request and in the launch.

    Blocks have shared memory of their own.
    """
    block = np.where(atomics["space"] == SHARED, atomics["block"].astype(np.int64) + 1, 0)
    warp, moment, address = issued(atomics, "pc"), atomics["moment"], atomics["address"]
    order = order_by(warp, moment, address)
    new = begins(warp[order], moment[order])
    in_request = _lengths(new | begins(address[order]))
    order = order_by(block, address)
    of_address = _lengths(begins(block[order], address[order]))
    return Contention(
        requests=int(new.sum()),
        updates=len(atomics),
        addresses=len(of_address),
        most=int(of_address.max(initial=0)),
        in_requests=len(in_request),
        most_in_request=int(in_request.max(initial=0)),
    )


def _lengths(begin: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Return the length of each run."""
    return np.diff(np.flatnonzero(begin), append=len(begin))

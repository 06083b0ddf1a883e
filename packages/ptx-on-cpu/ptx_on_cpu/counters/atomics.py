"""Atomic operations, and how many of them meet at one address."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ptx_on_cpu.counters.traces import Trace, begins, issued, order_by
from ptx_on_cpu.records import SHARED


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

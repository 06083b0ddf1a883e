"""Delivery with delays on the CPU: the rows of the neurons that spiked, into slots of the ring buffer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import prange

from event_ops.checks.arrays import reaches
from event_ops.kernels.numba_cpu.deliver import MIN_ENTRIES_PARALLEL, entries_up_to
from event_ops.kernels.numba_cpu.events import ids_of
from event_ops.kernels.numba_cpu.jit import njit, num_threads
from event_ops.kernels.numba_cpu.ring_buffer import (
    add_delayed_rows,
    add_part,
    seem_ordered,
    slot_bounds,
    slot_now,
)
from event_ops.kernels.numba_cpu.split import MIN_PARALLEL
from ffi_bridge import numba_kernel


# buffer and y are the same memory; XLA copies buffer first where it is needed again. One thread, since
# private sums would take a pass over the whole buffer, which a ring buffer is there to avoid.
@njit
def csr_event_deliver(
    buffer: Any, data: Any, indices: Any, indptr: Any, delays: Any, spikes: Any, slot: Any, y: Any
) -> None:
    ids = ids_of(spikes, indptr.size - 1)
    now = slot_now(slot, y.shape[0])
    add_delayed_rows(data, indices, indptr, delays, spikes, ids, now, y)


# Each thread has slots of its own, which are a part of every row if rows are in the order of their delays.
@njit(parallel=True)
def csr_event_deliver_parallel(
    buffer: Any, data: Any, indices: Any, indptr: Any, delays: Any, spikes: Any, slot: Any, y: Any
) -> None:
    ids = ids_of(spikes, indptr.size - 1)
    slots = np.uintp(y.shape[0])
    now = slot_now(slot, y.shape[0])
    parts = num_threads() if entries_up_to(indptr, ids)[ids.size] >= MIN_PARALLEL else 1
    if parts == 1 or not seem_ordered(indptr, delays, ids):
        add_delayed_rows(data, indices, indptr, delays, spikes, ids, now, y)
    else:
        bounds = slot_bounds(indptr, delays, ids, parts, slots)
        for part in prange(parts):
            low, high = bounds[part], bounds[part + 1]
            add_part(data, indices, indptr, delays, spikes, ids, now, low, high, y)


def build(*, outs: Any, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays; whatever arrives in one place is added by one thread, in row order."""

    def call(buffer: Any, data: Any, indices: Any, indptr: Any, delays: Any, spikes: Any, slot: Any) -> Any:
        large = reaches(indices.size, MIN_ENTRIES_PARALLEL) and delays.ndim == 1
        kernel = csr_event_deliver_parallel if large else csr_event_deliver
        run = numba_kernel(kernel, outs, input_output_aliases={0: 0})
        return run(buffer, data, indices, indptr, delays, spikes, slot)

    return call

"""Describe `csr_event_deliver` to benchmarks."""

from __future__ import annotations

import numpy as np

from event_ops.cases.bench import Bench, Call, Outs, active_flags, each, entries_of, inside, rows_of, size
from event_ops.cases.operations import arrivals


def _moved(call: Call, outs: Outs) -> int:
    """Count the places of the buffer where something arrives, read and written; at most all of it."""
    active = active_flags(call.spikes, call.shape[0])
    reached = min(entries_of(call.indptr, active), call.buffer.size)
    matrix = rows_of(call.indptr, active, call.data, call.indices, call.delays)
    return size(call.spikes) + matrix + 2 * reached * each(call.buffer)


def _operations(call: Call, outs: Outs) -> int:
    """Count what arrives, but for entries whose delay is out of range."""
    indices = np.where(inside(call.delays, 0, call.buffer.shape[0]), call.indices, call.shape[1])
    return arrivals(call, indices)


BENCH = Bench(carried={0: 0}, moved=_moved, operations=_operations)

"""Describe `expsyn_step` to benchmarks."""

from __future__ import annotations

from event_ops.cases.bench import Bench, Call, Outs, active_flags, rows_of, size
from event_ops.cases.operations import arrivals


def _moved(call: Call, outs: Outs) -> int:
    """Count the conductances twice, the spikes, and the entries of active rows."""
    active = active_flags(call.spikes, call.shape[0])
    return size(call.g, call.spikes, *outs) + rows_of(call.indptr, active, call.data, call.indices)


def _operations(call: Call, outs: Outs) -> int:
    """Count the decay of each element, and what arrives."""
    return call.g.size + arrivals(call, call.indices)


BENCH = Bench(carried={0: 0}, moved=_moved, operations=_operations)

"""Describe `dense_event_matvec` to benchmarks."""

from __future__ import annotations

from event_ops.cases.bench import Bench, Call, Outs, active_flags, each, size


def _moved(call: Call, outs: Outs) -> int:
    """Count the events, the outputs, and the rows (or columns) of active events."""
    rows, columns = call.weights.shape
    neurons, others = (rows, columns) if call.transpose else (columns, rows)
    active = int(active_flags(call.events, neurons).sum())
    return size(call.events, *outs) + active * others * each(call.weights)


BENCH = Bench(linear=(0, 1), moved=_moved)

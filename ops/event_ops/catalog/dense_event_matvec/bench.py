"""Describe `dense_event_matvec` to benchmarks."""

from __future__ import annotations

from event_ops.cases.bench import Bench, Call, Outs, active_flags, each, size
from event_ops.cases.operations import each_term


def _moved(call: Call, outs: Outs) -> int:
    """Count the events, the outputs, and the rows (or columns) of active events."""
    return size(call.events, *outs) + _weights_met(call) * each(call.weights)


def _operations(call: Call, outs: Outs) -> int:
    """Count `each_term` for the rows (or columns) of active events."""
    return _weights_met(call) * each_term(call.events)


def _weights_met(call: Call) -> int:
    """Count the weights in the rows (or columns) of active events."""
    rows, columns = call.weights.shape
    neurons, others = (rows, columns) if call.transpose else (columns, rows)
    return int(active_flags(call.events, neurons).sum()) * others


BENCH = Bench(linear=(0, 1), moved=_moved, operations=_operations)

"""Describe `dense_event_matmat` to benchmarks."""

from __future__ import annotations

import numpy as np

from event_ops.cases.bench import Bench, Call, Outs, active_flags, each, size
from event_ops.cases.operations import each_term


def _moved(call: Call, outs: Outs) -> int:
    """Count the events, the outputs, and the rows (or columns) of neurons that are active in any vector."""
    neurons, others = _ends(call)
    met = int(active_flags(call.events, neurons).sum()) * others
    return size(call.events, *outs) + met * each(call.weights)


def _operations(call: Call, outs: Outs) -> int:
    """Count `each_term` for the row (or column) of each active event."""
    return int(np.count_nonzero(call.events)) * _ends(call)[1] * each_term(call.events)


def _ends(call: Call) -> tuple[int, int]:
    """Return the number of neurons that may be active, and of those that they act on."""
    rows, columns = call.weights.shape
    return (rows, columns) if call.transpose else (columns, rows)


BENCH = Bench(linear=(0, 1), moved=_moved, operations=_operations)

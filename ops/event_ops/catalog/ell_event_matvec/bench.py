"""Describe `ell_event_matvec` to benchmarks."""

from __future__ import annotations

from event_ops.cases.bench import Bench, Call, Outs, active_flags, each, met, size
from event_ops.cases.operations import sparse_event_product


def _moved(call: Call, outs: Outs) -> int:
    """Count active rows; without transpose all indices, and the weights that active events meet."""
    active = active_flags(call.events, call.shape[not call.transpose])
    around = size(call.events, *outs)
    if call.transpose:
        entries = int(active.sum()) * call.indices.shape[1]
        return around + entries * (each(call.data) + each(call.indices))
    return around + size(call.indices) + met(active, call.indices) * each(call.data)


BENCH = Bench(linear=(0, 2), moved=_moved, operations=sparse_event_product)

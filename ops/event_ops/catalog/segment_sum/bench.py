"""Describe `segment_sum` to benchmarks."""

from __future__ import annotations

from event_ops.cases.bench import Bench, Call, Outs
from event_ops.cases.operations import added_at


def _operations(call: Call, outs: Outs) -> int:
    """Count a sum for each element of data that has a segment."""
    return added_at(call.segment_ids, 0, outs[0].shape[0], call.mode, outs[0])


BENCH = Bench(linear=(0,), operations=_operations)

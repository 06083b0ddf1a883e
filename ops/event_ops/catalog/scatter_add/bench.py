"""Describe `scatter_add` to benchmarks."""

from __future__ import annotations

from event_ops.cases.bench import Bench, Call, Outs
from event_ops.cases.operations import added_at


def _operations(call: Call, outs: Outs) -> int:
    """Count a sum for each update that has a place; a negative index counts from the end."""
    size = outs[0].shape[0]
    return added_at(call.indices, -size, size, call.mode, outs[0])


BENCH = Bench(linear=(0, 2), operations=_operations)

"""Describe `read_slot` to benchmarks."""

from __future__ import annotations

from event_ops.cases.bench import Bench, Call, Outs, size


def _moved(call: Call, outs: Outs) -> int:
    """Count one slot, which is read, handed out and cleared; the others stay where they are."""
    return 3 * size(outs[0])


BENCH = Bench(carried={0: 1}, moved=_moved)

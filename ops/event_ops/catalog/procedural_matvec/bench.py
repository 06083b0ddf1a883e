"""Describe `procedural_matvec` to benchmarks."""

from __future__ import annotations

from event_ops.cases.bench import Bench, Call, Outs
from event_ops.cases.operations import generated_product


def _operations(call: Call, outs: Outs) -> int:
    """Count a product and a sum for each entry, beside what generates it."""
    return generated_product(call, call.v.size, 2)


BENCH = Bench(operations=_operations)

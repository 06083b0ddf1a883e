"""Describe `procedural_matmat` to benchmarks."""

from __future__ import annotations

from event_ops.cases.bench import Bench, Call, Outs
from event_ops.cases.operations import generated_product


def _operations(call: Call, outs: Outs) -> int:
    """Count a product and a sum for each entry and column, beside what generates each entry once."""
    neurons, n = call.B.shape
    return generated_product(call, neurons, 2 * n)


BENCH = Bench(operations=_operations)

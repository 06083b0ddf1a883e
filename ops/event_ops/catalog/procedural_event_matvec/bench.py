"""Describe `procedural_event_matvec` to benchmarks."""

from __future__ import annotations

import numpy as np

from event_ops.cases.bench import Bench, Call, Outs
from event_ops.cases.operations import each_term, generated_product


def _operations(call: Call, outs: Outs) -> int:
    """Count what each active event does with its entries, beside what generates them."""
    return generated_product(call, int(np.count_nonzero(call.events)), each_term(call.events))


BENCH = Bench(operations=_operations)

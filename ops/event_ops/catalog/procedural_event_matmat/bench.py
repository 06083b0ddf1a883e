"""Describe `procedural_event_matmat` to benchmarks."""

from __future__ import annotations

import numpy as np

from event_ops.cases.bench import Bench, Call, Outs
from event_ops.cases.operations import each_term, generated_product


def _operations(call: Call, outs: Outs) -> int:
    """Count what each active event does with its entries, beside what generates these once."""
    active, events = np.count_nonzero(call.events.any(axis=1)), np.count_nonzero(call.events)
    others = outs[0].shape[0]
    return generated_product(call, int(active), 0) + round(
        call.prob * events * others * each_term(call.events)
    )


BENCH = Bench(operations=_operations)

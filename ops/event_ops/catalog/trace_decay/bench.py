"""Describe `trace_decay` to benchmarks."""

from __future__ import annotations

import numpy as np

from event_ops.cases.bench import Bench, Call, Outs


def _operations(call: Call, outs: Outs) -> int:
    """Count the decay of each element, and a sum for each spike."""
    return call.x.size + int(np.count_nonzero(call.spikes))


BENCH = Bench(carried={0: 0}, operations=_operations)

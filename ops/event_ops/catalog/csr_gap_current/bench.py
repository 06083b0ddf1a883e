"""Describe `csr_gap_current` to benchmarks."""

from __future__ import annotations

import numpy as np

from event_ops.cases.bench import Bench, Call, Outs
from event_ops.cases.operations import terms


def _operations(call: Call, outs: Outs) -> int:
    """Count a difference, a multiplication and an addition for each entry."""
    return 3 * terms(np.ones(call.shape[0], int), call.indices, call.indptr, call.shape[1])


BENCH = Bench(linear=(0, 3), operations=_operations)

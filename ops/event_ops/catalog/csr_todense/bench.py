"""Describe `csr_todense` to benchmarks."""

from __future__ import annotations

import numpy as np

from event_ops.cases.bench import Bench, Call, Outs
from event_ops.cases.operations import terms


def _operations(call: Call, outs: Outs) -> int:
    """Count a sum for each entry, since several may have the same place."""
    return terms(np.ones(call.shape[0], np.int8), call.indices, call.indptr, call.shape[1])


BENCH = Bench(operations=_operations)

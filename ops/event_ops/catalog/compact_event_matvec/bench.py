"""Describe `compact_event_matvec` to benchmarks."""

import numpy as np

from event_ops.cases.bench import Bench, Call, Outs, active_flags, rows_of, size
from event_ops.cases.operations import sparse_event_product


def _moved(call: Call, outs: Outs) -> int:
    """Count active rows; without transpose all words."""
    around = size(call.events, *outs)
    if not call.transpose:
        return around + size(call.entries, call.indptr)
    active = active_flags(call.events, call.shape[0], call.encoding)
    ends = np.reshape(call.indptr, (-1, call.shape[0] + 1))
    return around + sum(rows_of(part, active, call.entries) for part in ends)


BENCH = Bench(linear=(2, 3), moved=_moved, operations=sparse_event_product)

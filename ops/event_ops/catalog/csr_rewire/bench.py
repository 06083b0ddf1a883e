"""Describe `csr_rewire` to benchmarks."""

from __future__ import annotations

import numpy as np

from event_ops.cases.bench import Bench, Call, Outs, size


def _moved(call: Call, outs: Outs) -> int:
    """Count flags and row pointers, and the index of each slot that moves, which is written."""
    return size(call.rewired, call.indptr) + _moves(call) * call.indices.itemsize


def _operations(call: Call, outs: Outs) -> int:
    """Count a random number for each slot that moves; comparisons with its row depend on what is drawn."""
    return _moves(call) if call.targets is None else 0


def _moves(call: Call) -> int:
    return int(np.count_nonzero(call.rewired))


BENCH = Bench(carried={0: 0}, moved=_moved, operations=_operations)

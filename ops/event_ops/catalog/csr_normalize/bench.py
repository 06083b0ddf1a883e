"""Describe `csr_normalize` to benchmarks."""

from __future__ import annotations

import numpy as np

from event_ops.cases.bench import Bench, Call, Outs, entries_of, permutation_of, rows_of, size


def _moved(call: Call, outs: Outs) -> int:
    """Count the weights of active rows twice, and their structure."""
    arrays = call.data, call.data, call.indices, *permutation_of(call)
    return size(_active(call), np.asarray(call.target)) + rows_of(call.indptr, _active(call), *arrays)


def _operations(call: Call, outs: Outs) -> int:
    """Count an addition to the sum, and a product, or another addition, for each entry of active rows."""
    return 2 * entries_of(call.indptr, _active(call))


def _active(call: Call) -> np.ndarray:
    return np.ones(call.shape[0], bool) if call.active is None else call.active


BENCH = Bench(carried={0: 0}, moved=_moved, operations=_operations)

"""Describe `csr_scale_rows` to benchmarks."""

from __future__ import annotations

import numpy as np

from event_ops.cases.bench import Bench, Call, Outs, active_flags, entries_of, size


def _moved(call: Call, outs: Outs) -> int:
    """Count the row pointer, x and the output, and the weights of rows that are not silent."""
    return size(call.indptr, call.x, *outs) + _read(call) * call.data.itemsize


def _operations(call: Call, outs: Outs) -> int:
    """Count a product for each entry of a row; bools choose, which is none."""
    return 0 if call.x.dtype == bool else _read(call)


def _read(call: Call) -> int:
    """Count the weights that are read."""
    every = np.ones(call.x.size, bool)
    return entries_of(call.indptr, active_flags(call.x, call.x.size) if call.x.dtype == bool else every)


BENCH = Bench(linear=(0, 2), moved=_moved, operations=_operations)

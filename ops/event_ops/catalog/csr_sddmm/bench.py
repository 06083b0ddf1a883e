"""Describe `csr_sddmm` to benchmarks."""

from __future__ import annotations

import math

import numpy as np

from event_ops.cases.bench import Bench, Call, Outs, active_counts, met
from event_ops.cases.operations import spanned, terms


def _operations(call: Call, outs: Outs) -> int:
    """Count the products and sums of each entry; only sums, of what is active, where a factor is bools."""
    by_column = call.Y.dtype == bool
    factor = call.Y if by_column else call.X
    if factor.dtype != bool:
        n = math.prod(factor.shape[1:])
        return 2 * terms(np.full(call.shape[0], n), call.indices, call.indptr, call.shape[1])
    active = active_counts(factor, factor.shape[0])
    if by_column:
        return met(active, spanned(call.indices, call.indptr))
    return terms(active, call.indices, call.indptr, call.shape[1])


BENCH = Bench(linear=(2, 3), operations=_operations)

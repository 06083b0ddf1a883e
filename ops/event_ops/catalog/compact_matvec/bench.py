"""Describe `compact_matvec` to benchmarks."""

from event_ops.cases.bench import Bench
from event_ops.cases.operations import sparse_product

BENCH = Bench(linear=(2, 3), operations=sparse_product)

"""Describe `csr_event_matmat` to benchmarks."""

from event_ops.cases.bench import Bench, csr_event_product
from event_ops.cases.operations import sparse_event_product

BENCH = Bench(linear=(0, 3), moved=csr_event_product, operations=sparse_event_product)

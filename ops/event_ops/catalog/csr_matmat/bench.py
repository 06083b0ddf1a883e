"""Describe `csr_matmat` to benchmarks."""

from event_ops.cases.bench import Bench

BENCH = Bench(linear=(0, 3))

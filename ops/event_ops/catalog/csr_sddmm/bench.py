"""Describe `csr_sddmm` to benchmarks."""

from event_ops.cases.bench import Bench

BENCH = Bench(linear=(2, 3))

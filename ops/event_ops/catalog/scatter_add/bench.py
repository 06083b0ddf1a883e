"""Describe `scatter_add` to benchmarks."""

from event_ops.cases.bench import Bench

BENCH = Bench(linear=(0, 2))

"""Describe `segment_sum` to benchmarks."""

from event_ops.cases.bench import Bench

BENCH = Bench(linear=(0,))

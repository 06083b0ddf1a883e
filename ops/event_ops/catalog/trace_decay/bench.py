"""Describe `trace_decay` to benchmarks."""

from event_ops.cases.bench import Bench

BENCH = Bench(carried={0: 0})

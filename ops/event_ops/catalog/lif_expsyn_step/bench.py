"""Describe `lif_expsyn_step` to benchmarks."""

from event_ops.cases.bench import Bench

BENCH = Bench(carried={0: 0, 1: 1, 2: 2})

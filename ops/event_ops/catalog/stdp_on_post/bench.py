"""Describe `stdp_on_post` to benchmarks."""

from event_ops.cases.bench import Bench, stdp

BENCH = Bench(carried={0: 0}, moved=stdp("spikes_post", "x_pre", "A_plus", "rows", "permutation"))

"""Describe `stdp_on_post` to benchmarks."""

from event_ops.cases.bench import Bench, stdp
from event_ops.cases.operations import stdp_change

BENCH = Bench(
    carried={0: 0},
    moved=stdp("spikes_post", "x_pre", "A_plus", "rows", "permutation"),
    operations=stdp_change("spikes_post", "x_pre", "rows", "permutation"),
)

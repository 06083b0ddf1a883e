"""Describe `stdp_on_pre` to benchmarks."""

from event_ops.cases.bench import Bench, stdp
from event_ops.cases.operations import stdp_change

BENCH = Bench(
    carried={0: 0},
    moved=stdp("spikes_pre", "x_post", "A_minus", "indices"),
    operations=stdp_change("spikes_pre", "x_post", "indices"),
)

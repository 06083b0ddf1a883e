"""Describe `lif_expsyn_step` to benchmarks."""

from event_ops.cases.bench import Bench
from event_ops.cases.operations import neuron_step

# As in `lif_step`; the current decays, and where a neuron is free, it takes two to add to V.
BENCH = Bench(
    carried={0: 0, 1: 1, 2: 2},
    operations=neuron_step(free=8, held=4, inputs=("jump",)),
)

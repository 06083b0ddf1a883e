"""Describe `alif_step` to benchmarks."""

from event_ops.cases.bench import Bench
from event_ops.cases.operations import neuron_step

# As in `lif_step`; a decays, and where a neuron is free, the threshold takes two and a the spike.
BENCH = Bench(
    carried={0: 0, 1: 1, 2: 2},
    operations=neuron_step(free=9, held=4, inputs=("I_syn", "jump")),
)

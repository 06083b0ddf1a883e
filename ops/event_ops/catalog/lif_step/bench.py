"""Describe `lif_step` to benchmarks."""

from event_ops.cases.bench import Bench
from event_ops.cases.operations import neuron_step

# All compare the refractory time. What is held subtracts dt from it, and compares with 0; what is free takes
# three operations towards V_inf, and compares with the threshold.
BENCH = Bench(
    carried={0: 0, 1: 1},
    operations=neuron_step(free=5, held=3, inputs=("I_syn", "jump")),
)

"""Describe `lif_cond_exp_step` to benchmarks."""

from event_ops.cases.bench import Bench
from event_ops.cases.operations import neuron_step

# All compare the refractory time and decay two conductances. What is held subtracts dt, and compares with 0.
# What is free takes the means of the conductances (2), their sum (2), V_inf (4, and its division), exp
# and its argument (2), three operations towards V_inf, and compares with the threshold.
BENCH = Bench(
    carried={0: 0, 1: 1, 2: 2, 3: 3},
    operations=neuron_step(free=18, held=5, inputs=()),
)

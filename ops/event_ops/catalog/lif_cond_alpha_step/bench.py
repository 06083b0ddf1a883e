"""Describe `lif_cond_alpha_step` to benchmarks."""

from event_ops.cases.bench import Bench
from event_ops.cases.operations import neuron_step

# As in `lif_cond_exp_step`; a conductance and its slope take four operations, not one, and a slope adds two
# to the mean of each conductance of what is free.
BENCH = Bench(
    carried={i: i for i in range(6)},
    operations=neuron_step(free=28, held=11, inputs=()),
)

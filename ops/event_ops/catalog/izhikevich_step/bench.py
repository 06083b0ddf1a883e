"""Describe `izhikevich_step` to benchmarks."""

from event_ops.cases.bench import Bench
from event_ops.cases.operations import per_element

# Euler's method: six operations for the slope of V and two to move it, three for that of U and three to move
# it, a jump, a comparison with the threshold; d, where there is a spike, counts for none.
BENCH = Bench(carried={0: 0, 1: 1}, operations=per_element(15))

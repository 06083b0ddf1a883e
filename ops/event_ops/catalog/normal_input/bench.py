"""Describe `normal_input` to benchmarks."""

from event_ops.cases.bench import Bench
from event_ops.cases.operations import per_element

BENCH = Bench(carried={0: 0}, operations=per_element(3))  # a random number, a product and a sum

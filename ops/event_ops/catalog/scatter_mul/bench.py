"""Describe `scatter_mul` to benchmarks."""

from event_ops.cases import scatter
from event_ops.cases.bench import Bench
from event_ops.cases.operations import in_target

BENCH = Bench(linear=(scatter.TARGET,), operations=in_target)

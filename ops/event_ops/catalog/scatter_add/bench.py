"""Describe `scatter_add` to benchmarks."""

from event_ops.cases.bench import Bench
from event_ops.cases.operations import in_target

BENCH = Bench(carried={0: 0}, linear=(0, 2), operations=in_target)

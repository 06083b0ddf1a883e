"""Describe `scatter_max` to benchmarks."""

from event_ops.cases.bench import Bench
from event_ops.cases.operations import in_target

BENCH = Bench(operations=in_target)

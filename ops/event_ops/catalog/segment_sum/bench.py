"""Describe `segment_sum` to benchmarks."""

from event_ops.cases.bench import Bench
from event_ops.cases.operations import in_segments

BENCH = Bench(linear=(0,), operations=in_segments)

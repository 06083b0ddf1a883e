"""Describe `segment_max` to benchmarks."""

from event_ops.cases.bench import Bench
from event_ops.cases.operations import in_segments

BENCH = Bench(operations=in_segments)

"""Describe `spike_detect_reset` to benchmarks."""

from event_ops.cases.bench import Bench
from event_ops.cases.operations import per_element

BENCH = Bench(carried={0: 0}, operations=per_element(1))

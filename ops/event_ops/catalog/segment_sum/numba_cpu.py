"""Segment sums on the CPU."""

from event_ops.parts.numba_cpu.segments import segments

build = segments("add")

"""Segment maxima on the CPU."""

from event_ops.kernels.numba_cpu.segments import segments

build = segments("max")

"""Maxima at places on the CPU."""

from event_ops.kernels.numba_cpu.into_target import into_target

build = into_target("max")

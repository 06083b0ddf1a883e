"""`uniform_input` on the CPU."""

from functools import partial

from event_ops.kernels.numba_cpu.noise import build_with

build = partial(build_with, "uniform")

"""`uniform_input` on a GPU: one thread per neuron."""

from functools import partial

from event_ops.kernels.numba_cuda.noise import build_with

build = partial(build_with, "uniform")

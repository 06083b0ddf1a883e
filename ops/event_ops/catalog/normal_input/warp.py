"""`normal_input` in Warp: one thread per neuron."""

from functools import partial

from event_ops.kernels.warp.noise import build_with

build = partial(build_with, "normal")

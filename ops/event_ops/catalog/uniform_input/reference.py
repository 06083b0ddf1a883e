"""`uniform_input` in pure JAX: its definition."""

from functools import partial

from event_ops.kernels.reference.noise import build_with

build = partial(build_with, "uniform")

"""`scatter_min` in pure JAX: its definition."""

from event_ops.kernels.reference.extrema import extrema_in_target, in_jax

build = extrema_in_target("scatter_min", "min", in_jax)

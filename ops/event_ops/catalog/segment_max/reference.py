"""`segment_max` in pure JAX: its definition; ids that ascend get no special treatment."""

from event_ops.kernels.reference.extrema import extrema_of_segments, in_jax

build = extrema_of_segments("segment_max", "max", in_jax)

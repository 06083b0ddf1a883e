"""Minima at places on a GPU: atomic ones, of integers that are ordered as the numbers."""

from event_ops.kernels.numba_cuda.into_target import into_target
from event_ops.kernels.reference.extrema import extrema_in_target, of_keys

build = extrema_in_target("scatter_min", "min", of_keys(into_target))

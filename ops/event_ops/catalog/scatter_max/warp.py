"""Maxima at places in Warp: one thread per element of the updates."""

from event_ops.kernels.reference.extrema import extrema_in_target, of_keys
from event_ops.kernels.warp.scatter import scatter

build = extrema_in_target("scatter_max", "max", of_keys(scatter))

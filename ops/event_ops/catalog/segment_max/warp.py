"""Segment maxima in Warp: one thread per element of the data; whether the ids ascend makes no difference."""

from event_ops.kernels.reference.extrema import extrema_of_segments, of_keys
from event_ops.kernels.warp.scatter import scatter

build = extrema_of_segments("segment_max", "max", of_keys(scatter))

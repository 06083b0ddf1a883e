"""Segment maxima on a GPU: atomic, of integers ordered as the data; if ids ascend, runs of data first."""

from event_ops.kernels.numba_cuda.into_target import into_target
from event_ops.kernels.reference.extrema import extrema_of_segments, of_keys

build = extrema_of_segments("segment_max", "max", of_keys(into_target))

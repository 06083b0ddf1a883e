"""Event-driven dense product in Warp: one thread per output."""

from collections.abc import Callable
from typing import Any

import warp as wp

from event_ops.kernels.warp.access import Array, Array2d, is_active
from ffi_bridge import warp_kernel


@wp.kernel(enable_backward=False)
def along_rows(weights: Array2d, events: Array, y: Array):
    i = wp.tid()
    total = y.dtype(0)
    for j in range(events.shape[0]):
        if is_active(events[j]):
            total += weights[i, j] * y.dtype(events[j])
    y[i] = total


@wp.kernel(enable_backward=False)
def along_columns(weights: Array2d, events: Array, y: Array):
    j = wp.tid()
    total = y.dtype(0)
    for i in range(events.shape[0]):
        if is_active(events[i]):
            total += weights[i, j] * y.dtype(events[i])
    y[j] = total


def build(*, outs: Any, transpose: bool, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays for one orientation."""
    product = warp_kernel(along_columns if transpose else along_rows, outs)
    return lambda weights, events: product(weights.astype(outs.dtype), events)

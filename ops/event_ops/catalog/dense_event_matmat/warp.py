"""Event-driven dense product with a matrix in Warp: one thread per output."""

from collections.abc import Callable
from typing import Any

import warp as wp

from event_ops.kernels.warp.access import Array2d, is_active
from ffi_bridge import warp_kernel


@wp.kernel(enable_backward=False)
def along_rows(weights: Array2d, events: Array2d, y: Array2d):
    i, c = wp.tid()
    total = y.dtype(0)
    for j in range(events.shape[0]):
        if is_active(events[j, c]):
            total += weights[i, j] * y.dtype(events[j, c])
    y[i, c] = total


@wp.kernel(enable_backward=False)
def along_columns(weights: Array2d, events: Array2d, y: Array2d):
    j, c = wp.tid()
    total = y.dtype(0)
    for i in range(events.shape[0]):
        if is_active(events[i, c]):
            total += weights[i, j] * y.dtype(events[i, c])
    y[j, c] = total


def build(*, outs: Any, transpose: bool, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays for one orientation."""
    product = warp_kernel(along_columns if transpose else along_rows, outs)
    return lambda weights, events: product(weights.astype(outs.dtype), events)

"""Products of a dense matrix with events in Warp: one thread for each output."""

from collections.abc import Callable
from typing import Any

import jax
import warp as wp

from event_ops.kernels.warp.access import Array2d, is_active
from ffi_bridge import warp_kernel


@wp.kernel(enable_backward=False)
def sum_active(weights: Array2d, events: Array2d, transpose: bool, y: Array2d):
    """y[i, c] = sum of weights[i, j] * events[j, c], or of weights[j, i], over the active events."""
    i, c = wp.tid()
    total = y.dtype(0)
    for j in range(events.shape[0]):
        if is_active(events[j, c]):
            event = y.dtype(events[j, c])
            if transpose:
                total += weights[j, i] * event
            else:
                total += weights[i, j] * event
    y[i, c] = total


def product(*, outs: Any, transpose: bool, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays for one orientation; a vector of events is one column."""
    columns = outs.shape[1] if len(outs.shape) == 2 else 1
    run = warp_kernel(sum_active, jax.ShapeDtypeStruct((outs.shape[0], columns), outs.dtype))

    def call(weights: Any, events: Any) -> Any:
        events = events.reshape(events.shape[0], columns)
        return run(weights.astype(outs.dtype), events, transpose).reshape(outs.shape)

    return call


dense_event_matvec = dense_event_matmat = product

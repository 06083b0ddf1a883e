"""Event-driven ELL product in Warp: one thread per row."""

from collections.abc import Callable
from typing import Any

import warp as wp

from event_ops.kernels.warp.access import Array, Array2d, is_active, place
from event_ops.kernels.warp.scatter import sums_of
from ffi_bridge import warp_kernel


@wp.func
def weight_at(data: Array2d, i: wp.int32, k: wp.int32) -> Any:
    """Return the weight of entry k of row i; an array of one element holds it for all."""
    return data[wp.min(i, data.shape[0] - 1), wp.min(k, data.shape[1] - 1)]


@wp.kernel(enable_backward=False)
def gather_rows(data: Array2d, indices: Array2d, events: Array, y: Array):
    i = wp.tid()
    total = y.dtype(0)
    for k in range(indices.shape[1]):
        j = place(indices[i, k], events.shape[0])
        if j >= 0:
            if is_active(events[j]):
                total += weight_at(data, i, k) * y.dtype(events[j])
    y[i] = total


@wp.kernel(enable_backward=False)
def scatter_rows(data: Array2d, indices: Array2d, events: Array, y: Array):
    i = wp.tid()
    if is_active(events[i]):
        event = y.dtype(events[i])
        for k in range(indices.shape[1]):
            j = place(indices[i, k], y.shape[0])
            if j >= 0:
                wp.atomic_add(y, j, weight_at(data, i, k) * event)


def build(*, outs: Any, shape: tuple[int, int], transpose: bool, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays for one orientation."""
    gather = warp_kernel(gather_rows, outs)
    scatter = sums_of(scatter_rows, outs, shape[0])

    def call(data: Any, indices: Any, events: Any) -> Any:
        weights = (data if data.ndim else data.reshape(1, 1)).astype(outs.dtype)
        if not transpose:
            return gather(weights, indices, events)
        return scatter(weights, indices, events)

    return call

"""Event-driven CSR product in Warp: one thread per row of A and column of events."""

from collections.abc import Callable
from typing import Any

import warp as wp

from event_ops.kernels.warp.access import Array, Array2d, bounded, is_active, place, weight_at
from event_ops.kernels.warp.scatter import IN_ORDER, sums_of
from ffi_bridge import warp_kernel


@wp.kernel(enable_backward=False)
def gather_rows(data: Array, indices: Array, indptr: Array, events: Array2d, permutation: Array, y: Array2d):
    i, c = wp.tid()
    nse = indices.shape[0]
    total = y.dtype(0)
    for k in range(bounded(indptr[i], nse), bounded(indptr[i + 1], nse)):
        j = place(indices[k], events.shape[0])
        if j >= 0:
            if is_active(events[j, c]):
                total += weight_at(data, permutation, k) * y.dtype(events[j, c])
    y[i, c] = total


@wp.kernel(enable_backward=False)
def scatter_rows(data: Array, indices: Array, indptr: Array, events: Array2d, permutation: Array, y: Array2d):
    i, c = wp.tid()
    nse = indices.shape[0]
    if is_active(events[i, c]):
        event = y.dtype(events[i, c])
        for k in range(bounded(indptr[i], nse), bounded(indptr[i + 1], nse)):
            j = place(indices[k], y.shape[0])
            if j >= 0:
                wp.atomic_add(y, j, c, weight_at(data, permutation, k) * event)


def build(*, outs: Any, transpose: bool, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays for one orientation."""

    def call(data: Any, indices: Any, indptr: Any, events: Any, permutation: Any = IN_ORDER) -> Any:
        sums = sums_of(scatter_rows, outs, events.shape) if transpose else warp_kernel(gather_rows, outs)
        return sums(data.astype(outs.dtype), indices, indptr, events, permutation)

    return call

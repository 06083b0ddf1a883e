"""Event-driven CSR product in Warp: one thread per row, which ends at once where its event is silent."""

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import warp as wp

from event_ops.kernels.reference.entries import one_each
from event_ops.kernels.warp.access import Array, bounded, is_active, place, weight_at
from event_ops.kernels.warp.scatter import IN_ORDER, add_rows, sums_of
from ffi_bridge import warp_kernel


@wp.kernel(enable_backward=False)
def gather_rows(data: Array, indices: Array, indptr: Array, events: Array, permutation: Array, y: Array):
    i = wp.tid()
    nse = indices.shape[0]
    total = y.dtype(0)
    for k in range(bounded(indptr[i], nse), bounded(indptr[i + 1], nse)):
        j = place(indices[k], events.shape[0])
        if j >= 0:
            if is_active(events[j]):
                total += weight_at(data, permutation, k) * y.dtype(events[j])
    y[i] = total


@wp.kernel(enable_backward=False)
def scatter_ids(
    data: Array, indices: Array, indptr: Array, ids: wp.array(dtype=wp.int32), permutation: Array, y: Array
):
    i = place(ids[wp.tid()], indptr.shape[0] - 1)
    nse = indices.shape[0]
    if i >= 0:
        for k in range(bounded(indptr[i], nse), bounded(indptr[i + 1], nse)):
            j = place(indices[k], y.shape[0])
            if j >= 0:
                wp.atomic_add(y, j, weight_at(data, permutation, k))


def build(*, outs: Any, shape: tuple[int, int], transpose: bool, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays for one orientation; transposed, each spike id has a thread."""

    def call(data: Any, indices: Any, indptr: Any, events: Any, permutation: Any = IN_ORDER) -> Any:
        weights = data.astype(outs.dtype)
        if not transpose:
            values = one_each(events, shape[1], outs.dtype)
            return warp_kernel(gather_rows, outs)(weights, indices, indptr, values, permutation)
        ids = events.dtype == jnp.int32
        active = events if ids else one_each(events, shape[0], outs.dtype)
        scatter = sums_of(scatter_ids if ids else add_rows, outs, active.shape)
        return scatter(weights, indices, indptr, active, permutation)

    return call

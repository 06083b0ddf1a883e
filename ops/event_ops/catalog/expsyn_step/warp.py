"""Exponential synapses in Warp: one thread per row, which ends at once where its neuron is silent."""

from collections.abc import Callable
from typing import Any

import jax
import warp as wp

from event_ops.warp_parts.access import at
from event_ops.warp_parts.csr import bounded, is_active, place
from ffi_bridge import warp_kernel


@wp.kernel(enable_backward=False)
def add_rows(
    data: wp.array(dtype=Any),
    indices: wp.array(dtype=Any),
    indptr: wp.array(dtype=Any),
    spikes: wp.array(dtype=Any),
    y: wp.array(dtype=Any),
):
    i = wp.tid()
    nse = indices.shape[0]
    if is_active(spikes[i]):
        spike = y.dtype(spikes[i])
        for k in range(bounded(indptr[i], nse), bounded(indptr[i + 1], nse)):
            j = place(indices[k], y.shape[0])
            if j >= 0:
                wp.atomic_add(y, j, at(data, k) * spike)


def generator(*, outs: Any, shape: tuple[int, int], **_: Any) -> Callable[..., Any]:
    """The callable; the decay is XLA's, which runs it in place and on all threads."""
    flat = jax.ShapeDtypeStruct((outs.size,), outs.dtype)
    add = warp_kernel(add_rows, flat, launch_dims=shape[0], in_out_argnames=["y"])

    def call(g: Any, data: Any, indices: Any, indptr: Any, spikes: Any, decay: Any) -> Any:
        return add(data, indices, indptr, spikes, (g * decay).reshape(-1)).reshape(outs.shape)

    return call

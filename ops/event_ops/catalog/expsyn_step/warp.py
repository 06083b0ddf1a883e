"""Exponential synapses in Warp: one thread per row, which ends at once where its neuron is silent."""

from collections.abc import Callable
from typing import Any

import jax

from event_ops.kernels.warp.scatter import IN_ORDER, add_rows
from ffi_bridge import warp_kernel


def build(*, outs: Any, shape: tuple[int, int], **_: Any) -> Callable[..., Any]:
    """Return the function of arrays; the decay is XLA's, which runs it in place and on all threads."""
    flat = jax.ShapeDtypeStruct((outs.size,), outs.dtype)
    add = warp_kernel(add_rows, flat, launch_dims=shape[0], in_out_argnames=["y"])

    def call(g: Any, data: Any, indices: Any, indptr: Any, spikes: Any, decay: Any) -> Any:
        started = (g * decay).reshape(-1)
        return add(data, indices, indptr, spikes, IN_ORDER, started).reshape(outs.shape)

    return call

"""Compacting spikes in Warp: one thread per neuron, which stores its id if it spiked."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import warp as wp

from ffi_bridge import warp_kernel


@wp.kernel(enable_backward=False)
def store_ids(
    spikes: wp.array(dtype=wp.bool), counts: wp.array(dtype=wp.int32), ids: wp.array(dtype=wp.int32)
):
    i = wp.tid()
    if spikes[i]:
        position = counts[i] - 1
        if position < ids.shape[0]:
            ids[position] = i


def build(*, outs: Any, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays for one capacity."""

    def call(spikes: jax.Array) -> tuple[jax.Array, jax.Array]:
        size = spikes.shape[0]
        # XLA's prefix sum is parallel; in a Warp kernel the threads would have to wait for each other.
        counts = jnp.cumsum(spikes, dtype=jnp.int32)
        store = warp_kernel(store_ids, outs[0], launch_dims=size, in_out_argnames=["ids"])
        total = counts[-1] if size else jnp.int32(0)
        return store(spikes, counts, jnp.full(outs[0].shape, size, jnp.int32)), total

    return call

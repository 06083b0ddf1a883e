"""Encodings of events in Warp: one thread for each word, or for each event."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import warp as wp

from ffi_bridge import warp_kernel


@wp.kernel(enable_backward=False)
def pack(events: wp.array(dtype=wp.bool), words: wp.array(dtype=wp.uint32)):
    position = wp.tid()
    word = wp.uint32(0)
    first = 32 * position
    for bit in range(wp.min(32, events.shape[0] - first)):  # first + 32 may be more than an int32 holds
        if events[first + bit]:
            word += wp.uint32(1) << wp.uint32(bit)
    words[position] = word


@wp.kernel(enable_backward=False)
def unpack(words: wp.array(dtype=wp.uint32), events: wp.array(dtype=wp.bool)):
    i = wp.tid()
    bit = (words[i // 32] >> wp.uint32(i % 32)) & wp.uint32(1)
    events[i] = bit != wp.uint32(0)


@wp.kernel(enable_backward=False)
def store_ids(
    spikes: wp.array(dtype=wp.bool), counts: wp.array(dtype=wp.int32), ids: wp.array(dtype=wp.int32)
):
    i = wp.tid()
    if spikes[i]:
        position = counts[i] - 1
        if position < ids.shape[0]:
            ids[position] = i


def pack_events(*, outs: Any, **_: Any) -> Callable[..., Any]:
    """Return the function of flags."""
    return warp_kernel(pack, outs)


def unpack_events(*, outs: Any, **_: Any) -> Callable[..., Any]:
    """Return the function of words."""
    return warp_kernel(unpack, outs)


def spike_compact(*, outs: Any, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays for one capacity."""

    def call(spikes: jax.Array) -> tuple[jax.Array, jax.Array]:
        size = spikes.shape[0]
        # XLA's prefix sum is parallel; in a Warp kernel the threads would have to wait for each other.
        counts = jnp.cumsum(spikes, dtype=jnp.int32)
        store = warp_kernel(store_ids, outs[0], launch_dims=size, in_out_argnames=["ids"])
        total = counts[-1] if size else jnp.int32(0)
        return store(spikes, counts, jnp.full(outs[0].shape, size, jnp.int32)), total

    return call

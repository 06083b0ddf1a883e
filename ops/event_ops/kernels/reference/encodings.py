"""Encodings of events in pure JAX: flags as bits and back, and flags as ids."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from event_ops.kernels.reference.entries import packed_flags


def pack_events(**_: Any) -> Callable[..., jax.Array]:
    """Return the function of flags: bit i % 32 of word i // 32 is event i."""

    def pack(events: jax.Array) -> jax.Array:
        bits = jnp.pad(events, (0, -events.shape[0] % 32)).reshape(-1, 32).astype(jnp.uint32)
        return jnp.sum(bits << jnp.arange(32, dtype=jnp.uint32)[None, :], axis=1, dtype=jnp.uint32)

    return pack


def unpack_events(*, outs: Any, **_: Any) -> Callable[..., jax.Array]:
    """Return the function of words for one number of events."""
    return lambda words: packed_flags(words, outs.shape[0])


def spike_compact(*, outs: Any, **_: Any) -> Callable[..., tuple[jax.Array, jax.Array]]:
    """Return the function of spikes: their first ids, padded with the number of neurons, and their count."""
    (capacity,) = outs[0].shape

    def compact(spikes: jax.Array) -> tuple[jax.Array, jax.Array]:
        (ids,) = jnp.nonzero(spikes, size=capacity, fill_value=spikes.shape[0])
        return ids.astype(jnp.int32), jnp.sum(spikes, dtype=jnp.int32)

    return compact

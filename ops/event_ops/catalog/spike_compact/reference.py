"""`spike_compact` in pure JAX: its definition."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp


def spike_compact(spikes: jax.Array, *, capacity: int) -> tuple[jax.Array, jax.Array]:
    """Return the first `capacity` ids, padded with the size of `spikes`, and the number of all spikes."""
    (ids,) = jnp.nonzero(spikes, size=capacity, fill_value=spikes.shape[0])
    return ids.astype(jnp.int32), jnp.sum(spikes, dtype=jnp.int32)


def build(*, outs: Any, **_: Any) -> Callable[..., tuple[jax.Array, jax.Array]]:
    """Return `spike_compact` for one capacity."""
    capacity = outs[0].shape[0]
    return lambda spikes: spike_compact(spikes, capacity=capacity)

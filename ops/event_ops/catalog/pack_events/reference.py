"""`pack_events` in pure JAX: its definition."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp


def pack_events(events: jax.Array) -> jax.Array:
    """Bit i % 32 of word i // 32 is event i."""
    bits = jnp.pad(events, (0, -events.shape[0] % 32)).reshape(-1, 32).astype(jnp.uint32)
    return jnp.sum(bits << jnp.arange(32, dtype=jnp.uint32)[None, :], axis=1, dtype=jnp.uint32)


def build(**_: Any) -> Callable[..., jax.Array]:
    """Return `pack_events`."""
    return pack_events

"""`read_slot` in pure JAX: its definition."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from event_ops.checks.ring_buffer import slot_index


def read_slot(buffer: jax.Array, slot: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return the contents of a slot, and the buffer with that slot cleared."""
    now = slot_index(slot, buffer.shape[0])
    arrivals = jax.lax.dynamic_index_in_dim(buffer, now, keepdims=False)
    return arrivals, jax.lax.dynamic_update_index_in_dim(buffer, jnp.zeros_like(arrivals), now, 0)


def build(**_: Any) -> Callable[..., tuple[jax.Array, jax.Array]]:
    """Return `read_slot`."""
    return read_slot

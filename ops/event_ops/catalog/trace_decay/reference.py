"""`trace_decay` in pure JAX: its definition."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax


def trace_decay(x: jax.Array, spikes: jax.Array, decay: jax.Array) -> jax.Array:
    """x * decay + spikes, where decay is exp(-dt / tau)."""
    return x * decay + spikes.astype(x.dtype)


def build(**_: Any) -> Callable[..., jax.Array]:
    """Return `trace_decay`."""
    return trace_decay

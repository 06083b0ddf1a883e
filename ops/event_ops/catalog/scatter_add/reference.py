"""`scatter_add` in pure JAX: its definition."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax

from event_ops.checks.keywords import combined_at_places, refuse_error


def scatter_add(target: jax.Array, indices: jax.Array, updates: jax.Array, *, mode: str) -> jax.Array:
    """target.at[indices].add(updates), indices out of range dropped or clipped."""
    return combined_at_places("add", target, indices, updates, mode, from_end=True)


def build(*, mode: str, **_: Any) -> Callable[..., jax.Array]:
    """Return `scatter_add` for one mode."""
    refuse_error("scatter_add", mode)
    return partial(scatter_add, mode=mode)

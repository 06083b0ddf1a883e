"""`dense_event_matmat` in pure JAX: its definition."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax

from event_ops.kernels.reference.entries import event_terms


def build(*, outs: Any, transpose: bool, **_: Any) -> Callable[..., jax.Array]:
    """Return `dense_event_matmat` for one orientation."""

    def product(weights: jax.Array, events: jax.Array) -> jax.Array:
        along = events[:, None, :] if transpose else events[None, :, :]
        return event_terms(weights.astype(outs.dtype)[:, :, None], along).sum(axis=0 if transpose else 1)

    return product

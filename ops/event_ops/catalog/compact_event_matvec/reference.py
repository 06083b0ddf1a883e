"""`compact_event_matvec` in pure JAX: its definition."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax

from event_ops.parts.reference.entries import one_each
from event_ops.parts.reference.words import product, transposed_product


def build(*, outs: Any, shape: tuple[int, int], transpose: bool, **_: Any) -> Callable[..., jax.Array]:
    """Return `compact_event_matvec` for one orientation."""

    def matvec(entries: jax.Array, indptr: jax.Array, scale: jax.Array, events: jax.Array) -> jax.Array:
        flat = one_each(events, shape[0 if transpose else 1], outs.dtype).astype(outs.dtype)
        return (transposed_product if transpose else product)(entries, indptr, scale, flat, shape, outs.dtype)

    return matvec

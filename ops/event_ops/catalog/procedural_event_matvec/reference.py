"""`procedural_event_matvec` in pure JAX: its definition."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from event_ops.parts.reference.bernoulli import fold_entries, weights_at
from event_ops.parts.reference.entries import event_terms, sums_at, values_at


def build(
    *, prob: float, shape: tuple[int, int], distribution: str, transpose: bool, **_: Any
) -> Callable[..., jax.Array]:
    """Return `procedural_event_matvec`: y[i] = sum of weight (i, j) * events[j], or transposed."""

    def event_matvec(weight: jax.Array, seed: jax.Array, events: jax.Array) -> jax.Array:
        def add(y: jax.Array, there: Any, rows: Any, columns: Any, words: Any) -> jax.Array:
            weights = weights_at(weight, distribution, seed, rows, columns, words)
            terms = event_terms(weights, events if transpose else values_at(events, columns))
            terms = jnp.where(there, terms, 0)
            return y + (sums_at(terms, columns, shape[1]) if transpose else terms)

        rows = jnp.arange(shape[0], dtype="uint32")
        silent = ~events.astype(bool) if transpose else jnp.zeros(shape[0], bool)
        y = jnp.zeros((shape[1] if transpose else shape[0],), weight.dtype)
        return fold_entries(add, y, seed, prob, rows, shape[1], silent)

    return event_matvec

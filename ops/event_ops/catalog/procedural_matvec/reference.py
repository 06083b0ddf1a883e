"""`procedural_matvec` in pure JAX: its definition."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from event_ops.parts.reference.bernoulli import fold_entries, weights_at
from event_ops.parts.reference.entries import sums_at, values_at


def build(
    *, prob: float, shape: tuple[int, int], distribution: str, transpose: bool, **_: Any
) -> Callable[..., jax.Array]:
    """Return `procedural_matvec`: y[i] = sum of weight (i, j) * v[j], or transposed."""

    def matvec(weight: jax.Array, seed: jax.Array, v: jax.Array) -> jax.Array:
        def add(y: jax.Array, there: Any, rows: Any, columns: Any, words: Any) -> jax.Array:
            weights = weights_at(weight, distribution, seed, rows, columns, words)
            terms = jnp.where(there, weights * (v if transpose else values_at(v, columns)), 0)
            return y + (sums_at(terms, columns, shape[1]) if transpose else terms)

        rows = jnp.arange(shape[0], dtype="uint32")
        y = jnp.zeros((shape[1] if transpose else shape[0],), weight.dtype)
        return fold_entries(add, y, seed, prob, rows, shape[1], jnp.zeros(shape[0], bool))

    return matvec

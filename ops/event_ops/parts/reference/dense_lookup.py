"""Looking up the entries of a sparse matrix in a dense one."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from event_ops.parts.reference.entries import inside


def dense_at(D: jax.Array, rows: jax.Array, columns: jax.Array, fill: int = 0) -> jax.Array:
    """D[rows, columns], and `fill` where either is out of range; no id counts from the end."""
    if D.size == 0:  # JAX refuses to look anything up in an empty array
        return jnp.full(rows.shape, fill, D.dtype)
    places = inside(rows, D.shape[0]), inside(columns, D.shape[1])
    return jnp.asarray(D).at[places].get(mode="fill", fill_value=fill)

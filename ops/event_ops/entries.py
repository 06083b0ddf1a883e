"""Entries of a CSR matrix in pure JAX: the row and column of each, for references and weight gradients."""

from __future__ import annotations

import jax
import jax.numpy as jnp


def rows_of(indptr: jax.Array, nse: int) -> jax.Array:
    """The row of every entry; -1 or the number of rows for entries that no row holds."""
    positions = jnp.arange(nse, dtype=indptr.dtype)
    return jnp.searchsorted(indptr, positions, side="right").astype(jnp.int32) - 1


def inside(ids: jax.Array, size: int) -> jax.Array:
    """`ids` where they are in [0, size), else `size`, which lookups and sums below leave out."""
    return jnp.where((ids >= 0) & (ids < size), ids, jnp.asarray(size, ids.dtype))


def values_at(x: jax.Array, ids: jax.Array) -> jax.Array:
    """x[ids], and 0 where an id is out of range; no id counts from the end."""
    if x.shape[0] == 0:  # JAX refuses to look anything up in an empty array
        return jnp.zeros(ids.shape, x.dtype)
    places = inside(ids, x.shape[0])
    return jnp.asarray(x).at[places].get(mode="fill", fill_value=0)


def sums_at(terms: jax.Array, ids: jax.Array, size: int) -> jax.Array:
    """For each of `size` ids the sum of its terms; terms whose id is out of range are left out."""
    zeros = jnp.zeros((size,), terms.dtype)
    return zeros.at[inside(ids, size)].add(terms, mode="drop")


def event_terms(data: jax.Array, active: jax.Array) -> jax.Array:
    """What each entry adds for the event that it meets: 0 for an inactive one, whatever the weight."""
    weights = jnp.where(active.astype(bool), data, 0)
    return weights if active.dtype == bool else weights * active

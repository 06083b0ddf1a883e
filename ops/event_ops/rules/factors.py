"""Derivatives of products at places, by the product rule and no division: factors may be 0 or infinite."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from event_ops.checks.keywords import places
from ffi_bridge import get_operator


def tangent_in_updates(
    tangent: Any, target: Any, indices: Any, updates: Any, *, outs: Any, mode: str, **params: Any
) -> Any:
    """Return the rule `dy[i] = sum of dupdates[k] * (product of all other factors of y[i])`."""
    whole = indices.shape + target.shape[1:]
    others = _products_of_others(target, indices, jnp.broadcast_to(updates, whole), mode)
    add, terms = get_operator("scatter_add"), jnp.broadcast_to(tangent, whole) * others
    return add(jnp.zeros(outs.shape, outs.dtype), indices, terms, outs=outs, mode=mode, **params)


def _products_of_others(target: jax.Array, indices: jax.Array, updates: jax.Array, mode: str) -> jax.Array:
    """Return what each update is multiplied by at its place; 0 for updates that are dropped."""
    size = target.shape[0]
    if size == 0:
        return jnp.zeros_like(updates)
    at = places(indices, size, mode, from_end=True)
    order = jnp.argsort(at, stable=True)
    inside, there = _by_row(at < size, updates), at[order]
    sorted_updates = jnp.where(inside, updates, 1)[order]
    before = _products_before(sorted_updates, there)
    after = jnp.flip(_products_before(jnp.flip(sorted_updates, 0), jnp.flip(there)), 0)
    others = (before * after).at[jnp.argsort(order)].get(unique_indices=True)
    return jnp.where(inside, others * target.at[at].get(mode="fill", fill_value=0), 0)


def _products_before(factors: jax.Array, there: jax.Array) -> jax.Array:
    """Return the product of the factors of its place before each one, where equal places are neighbours."""
    begins = _by_row(there != _moved(there, -1), factors)
    shifted = jnp.where(begins, 1, _moved(factors, 1))
    flags = jnp.broadcast_to(begins, factors.shape)
    return jax.lax.associative_scan(_joined, (flags, shifted))[1]


def _joined(left: tuple[Any, Any], right: tuple[Any, Any]) -> tuple[Any, Any]:
    # Not what follows the other place is chosen but what is multiplied, so that derivatives are, too.
    return left[0] | right[0], jnp.where(right[0], 1, left[1]) * right[1]


def _moved(x: jax.Array, first: int) -> jax.Array:
    """Return x moved on by one, behind a value."""
    return jnp.concatenate([jnp.full((1, *x.shape[1:]), first, x.dtype), x])[:-1]


def _by_row(x: jax.Array, like: jax.Array) -> jax.Array:
    return x.reshape(-1, *(1,) * (like.ndim - 1))

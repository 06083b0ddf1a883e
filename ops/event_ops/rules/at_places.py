"""Derivatives of maxima, minima and products at places, as JAX has them."""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax.interpreters import ad

from event_ops.checks.keywords import places, values_at_places
from event_ops.kernels.reference.entries import along
from event_ops.kernels.reference.neutral import neutral
from ffi_bridge import XLACustomKernel, get_operator

Sums = Callable[[jax.Array], jax.Array]


def shares(
    target: Any, updates: Any, y: Any, at_places: Callable[[Any], Any], sums: Sums
) -> tuple[jax.Array, jax.Array]:
    """Return how much of the tangent of y is that of the target, and of each update.

    A result that is NaN takes that of none; where there is no update, y takes that of the target.

    Args:
        target: (n,) or (n, width).
        updates: one for each index, elements or rows; or 0-d.
        y: the maximum or minimum of the target and of the updates at each place.
        at_places: gives what an array like y holds where the indices point.
        sums: adds up values of updates at their places.
    """
    there = at_places(y)
    wins, stays = updates == there, target == y
    # Updates of a NaN count, too, to tell the places that have updates.
    counted = sums((wins | jnp.isnan(there)).astype(y.dtype))
    each = 1 / jnp.maximum(counted + stays.astype(y.dtype), 1)
    of_target = jnp.where(stays, each, (counted == 0).astype(y.dtype))
    return of_target, jnp.where(wins, at_places(each), 0)


def segment_extremum_jvp(kernel: XLACustomKernel, how: str) -> Callable[..., Any]:
    """Return the jvp rule of the maximum or minimum of each segment.

    Data share with the value of an empty segment, if they are equal to it.
    """

    def rule(primals: Any, tangents: Any, *, outs: Any, mode: str, **params: Any) -> tuple[Any, Any]:
        (data, segment_ids), tangent = primals, tangents[0]
        y = kernel(data, segment_ids, outs=outs, mode=mode, **params)
        if isinstance(tangent, ad.Zero):
            return y, None
        sum_mode = "clip" if mode == "clip" else "drop"  # y raises for "error"

        def sums(x: jax.Array) -> jax.Array:
            add = get_operator("segment_sum")
            return add(x, segment_ids, outs=outs, mode=sum_mode, deterministic=False, **params)

        at_places = partial(values_at_places, indices=segment_ids, mode=sum_mode)
        empty = jnp.full_like(y, neutral(how, outs.dtype))
        return y, sums(shares(empty, data, y, at_places, sums)[1] * tangent)

    return rule


def scatter_extremum_jvp(kernel: XLACustomKernel) -> Callable[..., Any]:
    """Return the jvp rule of the maximum or minimum of a target and its updates."""

    def rule(primals: Any, tangents: Any, *, outs: Any, mode: str, **params: Any) -> tuple[Any, Any]:
        target, indices, updates = primals
        y = kernel(*primals, outs=outs, mode=mode, **params)
        sum_mode = "clip" if mode == "clip" else "drop"  # y raises for "error"

        def sums(x: jax.Array) -> jax.Array:
            add, zeros = get_operator("scatter_add"), jnp.zeros_like(y)
            return add(zeros, indices, x, outs=outs, mode=sum_mode, deterministic=False, **params)

        at_places = partial(values_at_places, indices=indices, mode=sum_mode, from_end=True)
        of_target, of_updates = shares(target, updates, y, at_places, sums)
        terms = []
        if not isinstance(tangents[0], ad.Zero):
            terms.append(of_target * tangents[0])
        if not isinstance(tangents[2], ad.Zero):
            terms.append(sums(of_updates * tangents[2]))
        return y, sum(terms) if terms else None

    return rule


def tangent_in_updates(
    tangent: Any, target: Any, indices: Any, updates: Any, *, outs: Any, mode: str, **params: Any
) -> Any:
    """Return the rule `dy[i] = sum of dupdates[k] * (product of y[i]'s factors without updates[k])`."""
    whole = indices.shape + target.shape[1:]
    others = _products_of_others(target, indices, jnp.broadcast_to(updates, whole), mode)
    add, terms = get_operator("scatter_add"), jnp.broadcast_to(tangent, whole) * others
    return add(jnp.zeros(outs.shape, outs.dtype), indices, terms, outs=outs, mode=mode, **params)


def _products_of_others(target: jax.Array, indices: jax.Array, updates: jax.Array, mode: str) -> jax.Array:
    """Return the factor that each update has at its place; 0 for updates that are dropped."""
    size = target.shape[0]
    if size == 0:
        return jnp.zeros_like(updates)
    at = places(indices, size, mode, from_end=True)
    order = jnp.argsort(at, stable=True)
    inside, there = along(at < size, updates), at[order]
    sorted_updates = jnp.where(inside, updates, 1)[order]
    # Before times after, since a quotient by the update itself would be 0 / 0 at 0.
    before = _products_before(sorted_updates, there)
    after = jnp.flip(_products_before(jnp.flip(sorted_updates, 0), jnp.flip(there)), 0)
    others = (before * after).at[jnp.argsort(order)].get(unique_indices=True)
    return jnp.where(inside, others * target.at[at].get(mode="fill", fill_value=0), 0)


def _products_before(factors: jax.Array, there: jax.Array) -> jax.Array:
    """Return the product of the factors of its place before each one, where equal places are neighbours."""
    begins = along(there != _moved(there, -1), factors)
    shifted = jnp.where(begins, 1, _moved(factors, 1))
    flags = jnp.broadcast_to(begins, factors.shape)
    return jax.lax.associative_scan(_joined, (flags, shifted))[1]


def _joined(left: tuple[Any, Any], right: tuple[Any, Any]) -> tuple[Any, Any]:
    # Not what follows the other place is chosen but what is multiplied, so that derivatives are, too.
    return left[0] | right[0], jnp.where(right[0], 1, left[1]) * right[1]


def _moved(x: jax.Array, first: int) -> jax.Array:
    """Return x moved on by one, behind a value."""
    return jnp.concatenate([jnp.full((1, *x.shape[1:]), first, x.dtype), x])[:-1]

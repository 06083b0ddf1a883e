"""A rule applied where neurons spiked, in pure JAX: the definition."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax.custom_derivatives import SymbolicZero

from event_ops.parts.reference.entries import rows_of, sums_at, values_at
from event_ops.plasticity.rule import OTHER, SPIKING, Rule


def along_rows(rule: Rule, **_: Any) -> Callable[..., tuple[jax.Array, ...]]:
    """Return the function of arrays for spikes of rows, whose entries are in the order of the synapses."""

    def call(*arrays: jax.Array) -> tuple[jax.Array, ...]:
        indices, indptr, spikes, limit = arrays[rule.count : rule.count + 4]
        rows = rows_of(indptr, indices.shape[0])
        active = values_at(spikes, rows) & (indices >= 0) & (indices < limit)
        return _changed(rule, arrays, 4, rows, indices, active)

    return call


def along_columns(rule: Rule, **_: Any) -> Callable[..., tuple[jax.Array, ...]]:
    """Return the function of arrays for spikes of columns: entry p is the synapse permutation[p]."""

    def call(*arrays: jax.Array) -> tuple[jax.Array, ...]:
        rows, indptr, permutation, spikes, limit = arrays[rule.count : rule.count + 5]
        nse = rows.shape[0]
        columns = rows_of(indptr, nse)
        active = values_at(spikes, columns) & (rows >= 0) & (rows < limit)
        by_synapse = (sums_at(x, permutation, nse) for x in (columns, rows, active.astype(jnp.int32)))
        columns, rows, count = by_synapse
        return _changed(rule, arrays, 5, columns, rows, count > 0)

    return call


def _changed(
    rule: Rule, arrays: tuple[Any, ...], between: int, spiking: jax.Array, other: jax.Array, active: jax.Array
) -> tuple[jax.Array, ...]:
    """Apply the rule to inputs that are looked up for each synapse."""
    ids = {SPIKING: spiking, OTHER: other}
    given = (*arrays[: rule.count], *arrays[rule.count + between :])
    inputs = (
        values_at(x, ids[place]) if place in ids else x for x, place in zip(given, rule.places, strict=True)
    )
    return _where(rule, active, *inputs)


@partial(jax.custom_jvp, nondiff_argnums=(0,))
def _where(rule: Rule, active: jax.Array, *inputs: jax.Array) -> tuple[jax.Array, ...]:
    """Return what the rule says at active synapses, and elsewhere the synaptic variables as they are."""
    said = rule.of_each(*inputs)
    return tuple(jnp.where(active, new, old) for new, old in zip(said, inputs, strict=False))


@partial(_where.defjvp, symbolic_zeros=True)
def _where_jvp(rule: Rule, primals: Any, tangents: Any) -> tuple[Any, Any]:
    """Multiply by the rule's partial derivatives, which are 0 at silent synapses, whatever is read there."""
    active, *inputs = primals
    moving = [i for i, t in enumerate(tangents[1:]) if not isinstance(t, SymbolicZero)]

    def of_moving(*xs: jax.Array) -> tuple[jax.Array, ...]:
        given: dict[int, Any] = dict(zip(moving, xs, strict=True))
        return rule.of_each(*(given.get(i, x) for i, x in enumerate(inputs)))

    each = [jnp.broadcast_to(inputs[i], active.shape) for i in moving]
    said, pull = jax.vjp(of_moving, *each)
    dots = []
    for k, old in enumerate(inputs[: rule.count]):
        partials = pull(tuple(jnp.ones_like(y) if k == m else jnp.zeros_like(y) for m, y in enumerate(said)))
        terms = (jnp.where(active, p, 0) * tangents[1 + i] for i, p in zip(moving, partials, strict=True))
        kept = tangents[1 + k] if k in moving else jnp.zeros_like(old)
        dots.append(jnp.where(active, sum(terms), kept))
    return tuple(jnp.where(active, y, x) for y, x in zip(said, inputs, strict=False)), tuple(dots)

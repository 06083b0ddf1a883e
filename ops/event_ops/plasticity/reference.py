"""A rule applied where neurons spiked, in pure JAX: the definition."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

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
    """Return what the rule says at active synapses, and elsewhere the synaptic variables as they are."""
    ids = {SPIKING: spiking, OTHER: other}
    given = (*arrays[: rule.count], *arrays[rule.count + between :])
    found = (
        values_at(x, ids[place]) if place in ids else x for x, place in zip(given, rule.places, strict=True)
    )
    # Derivatives pass at active synapses alone, where 0 times what is infinite at another is not NaN.
    inputs = (jnp.where(active, x, jax.lax.stop_gradient(x)) for x in found)
    said = rule.of_each(*inputs)
    return tuple(jnp.where(active, new, old) for new, old in zip(said, arrays, strict=False))

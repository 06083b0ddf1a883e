"""A rule applied where neurons spiked, in pure JAX: the definition."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp

from event_ops.parts.reference.entries import rows_of, sums_at, values_at
from event_ops.plasticity.emit import OTHER, SPIKING
from event_ops.scalar_functions.function import Traced


def along_rows(rule: Traced, **_: Any) -> Callable[..., tuple[jax.Array, ...]]:
    """Return the function of arrays for spikes of rows, whose entries are in the order of the synapses."""

    def call(*arrays: jax.Array) -> tuple[jax.Array, ...]:
        indices, indptr, spikes, limit = arrays[rule.count : rule.count + 4]
        rows = rows_of(indptr, indices.shape[0])
        active = values_at(spikes, rows) & (indices >= 0) & (indices < limit)
        return _changed(rule, arrays, 4, _at(rows), _at(indices), active)

    return call


def along_columns(rule: Traced, **_: Any) -> Callable[..., tuple[jax.Array, ...]]:
    """Return the function of arrays for spikes of columns: entry p is the synapse permutation[p]."""

    def call(*arrays: jax.Array) -> tuple[jax.Array, ...]:
        rows, indptr, permutation, spikes, limit = arrays[rule.count : rule.count + 5]
        nse = rows.shape[0]
        columns = rows_of(indptr, nse)
        active = values_at(spikes, columns) & (rows >= 0) & (rows < limit)
        by_synapse = (sums_at(x, permutation, nse) for x in (columns, rows, active.astype(jnp.int32)))
        columns, rows, count = by_synapse
        return _changed(rule, arrays, 5, _at(columns), _at(rows), count > 0)

    return call


def along_dense_rows(rule: Traced, shape: tuple[int, int], **_: Any) -> Callable[..., tuple[jax.Array, ...]]:
    """Return the function of arrays for spikes of rows of a dense matrix."""
    return _dense(rule, shape, 0)


def along_dense_columns(
    rule: Traced, shape: tuple[int, int], **_: Any
) -> Callable[..., tuple[jax.Array, ...]]:
    """Return the function of arrays for spikes of columns of a dense matrix."""
    return _dense(rule, shape, 1)


def _dense(rule: Traced, shape: tuple[int, int], axis: int) -> Callable[..., tuple[jax.Array, ...]]:
    def along(axis: int) -> _Find:
        return lambda x: jnp.broadcast_to(jnp.expand_dims(x, 1 - axis), shape).reshape(-1)

    def call(*arrays: jax.Array) -> tuple[jax.Array, ...]:
        flat, spikes = tuple(x.reshape(-1) if x.ndim == 2 else x for x in arrays), arrays[rule.count]
        changed = _changed(rule, flat, 1, along(axis), along(1 - axis), along(axis)(spikes))
        return tuple(x.reshape(shape) for x in changed)

    return call


# Returns what an array of neurons has at every synapse.
_Find: TypeAlias = Callable[[Any], jax.Array]


def _at(ids: jax.Array) -> _Find:
    return lambda x: values_at(x, ids)


def _changed(
    rule: Traced,
    arrays: tuple[Any, ...],
    between: int,
    at_spiking: _Find,
    at_other: _Find,
    active: jax.Array,
) -> tuple[jax.Array, ...]:
    """Return what the rule says at active synapses, and elsewhere the synaptic variables as they are."""
    find = {SPIKING: at_spiking, OTHER: at_other}
    given = (*arrays[: rule.count], *arrays[rule.count + between :])
    found = (find[place](x) if place in find else x for x, place in zip(given, rule.places, strict=True))
    # Derivatives pass at active synapses alone, where 0 times what is infinite at another is not NaN.
    inputs = (jnp.where(active, x, jax.lax.stop_gradient(x)) for x in found)
    said = rule.of_each(*inputs)
    return tuple(jnp.where(active, new, old) for new, old in zip(said, arrays, strict=False))

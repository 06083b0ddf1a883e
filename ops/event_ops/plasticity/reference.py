"""A rule applied where neurons spiked, in pure JAX: the definition."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp

from event_ops.codegen.function import Traced
from event_ops.kernels.reference.entries import rows_of, sums_at, values_at
from event_ops.plasticity.emit import OTHER, SPIKING


def along_rows(rule: Traced, **_: Any) -> Callable[..., tuple[jax.Array, ...]]:
    """Return the function of arrays for spikes of rows, whose entries are in the order of the synapses."""

    def call(*arrays: jax.Array) -> tuple[jax.Array, ...]:
        indices, indptr, spikes, limit = arrays[rule.count : rule.count + 4]
        rows = rows_of(indptr, indices.shape[0])
        stored = (indices >= 0) & (indices < limit)
        return _changed(rule, arrays, 4, spikes, stored, _at(rows), _at(indices))

    return call


def along_columns(rule: Traced, **_: Any) -> Callable[..., tuple[jax.Array, ...]]:
    """Return the function of arrays for spikes of columns: entry p is the synapse permutation[p]."""

    def call(*arrays: jax.Array) -> tuple[jax.Array, ...]:
        rows, indptr, permutation, spikes, limit = arrays[rule.count : rule.count + 5]
        nse = rows.shape[0]
        columns = rows_of(indptr, nse)
        stored = (columns >= 0) & (rows >= 0) & (rows < limit)
        by_synapse = (sums_at(x, permutation, nse) for x in (columns, rows, stored.astype(jnp.int32)))
        columns, rows, count = by_synapse
        return _changed(rule, arrays, 5, spikes, count > 0, _at(columns), _at(rows))

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
        stored = jnp.ones(flat[0].shape, bool)
        changed = _changed(rule, flat, 1, spikes, stored, along(axis), along(1 - axis))
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
    spikes: jax.Array,
    stored: jax.Array,
    at_spiking: _Find,
    at_other: _Find,
) -> tuple[jax.Array, ...]:
    """Return what the rule says at active synapses, and elsewhere the synaptic variables as they are.

    stored: whether a synapse is one of the matrix.
    """
    events = at_spiking(spikes)
    active = events.astype(bool) & stored
    find = {SPIKING: at_spiking, OTHER: at_other}
    given = (*arrays[: rule.count], *arrays[rule.count + between :])
    found = [find[place](x) if place in find else x for x, place in zip(given, rule.places, strict=True)]
    # Derivatives pass at active synapses alone, where 0 times what is infinite at another is not NaN.
    said = rule.of_each(*(jnp.where(active, x, jax.lax.stop_gradient(x)) for x in found))
    left = arrays[: rule.count] if events.dtype == bool else _left(rule, found, stored)
    return tuple(jnp.where(active, new, old) for new, old in zip(said, left, strict=True))


def _left(rule: Traced, found: list[jax.Array], stored: jax.Array) -> tuple[jax.Array, ...]:
    """Return the synaptic variables as they were, where float spikes, the rule's first variable, are 0.

    A spike could have had another value: derivatives are those of a change in proportion to it.
    """
    count = rule.count

    @jax.custom_jvp
    def as_they_were(*inputs: jax.Array) -> tuple[jax.Array, ...]:
        return inputs[:count]

    def moved(*inputs: jax.Array) -> list[jax.Array]:
        def of_value(value: jax.Array) -> tuple[jax.Array, ...]:
            return rule.of_each(*inputs[:count], value, *inputs[count + 1 :])

        value = inputs[count]
        _, slopes = jax.jvp(of_value, (value,), (jnp.ones_like(value),))
        return [old + jnp.where(stored, value * slope, 0) for old, slope in zip(inputs, slopes, strict=False)]

    @as_they_were.defjvp
    def _(inputs: Any, tangents: Any) -> Any:
        return inputs[:count], tuple(jax.jvp(moved, inputs, tangents)[1])

    return as_they_were(*found)

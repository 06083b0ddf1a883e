"""A rule applied where neurons spiked, in pure JAX: the definition."""

from collections.abc import Callable
from typing import Any, Final, TypeAlias

import jax
import jax.numpy as jnp

from event_ops.codegen.function import Traced
from event_ops.kernels.reference.entries import rows_of, sums_at, values_at
from event_ops.plasticity.emit import COLUMNS, DENSE_COLUMNS, DENSE_ROWS, OTHER, ROWS, SPIKING, STORAGES

# Returns what an array of neurons has at every synapse.
_Find: TypeAlias = Callable[[Any], jax.Array]


def build(
    *, rule: Traced, storage: str, shape: tuple[int, int], **_: Any
) -> Callable[..., tuple[jax.Array, ...]]:
    """Return the function of arrays for synapses that are stored so; shape is that of the matrix."""
    names, ends = STORAGES[storage].structure, _ENDS[STORAGES[storage]]

    def call(*arrays: jax.Array) -> tuple[jax.Array, ...]:
        structure = dict(zip(names, arrays[rule.count :], strict=False))
        flat = tuple(x.reshape(-1) if x.ndim == 2 else x for x in arrays)
        stored, at_spiking, at_other = ends(structure, flat[0].size, shape)
        changed = _changed(rule, flat, len(names), structure["spikes"], stored, at_spiking, at_other)
        return tuple(x.reshape(like.shape) for x, like in zip(changed, arrays, strict=False))

    return call


def _of_rows(structure: dict[str, jax.Array], nse: int, _: Any) -> tuple[jax.Array, _Find, _Find]:
    """Return which synapses are of the matrix, and how to read at both ends, where rows spike."""
    ids = structure["ids"]
    return (ids >= 0) & (ids < structure["limit"]), _at(rows_of(structure["indptr"], nse)), _at(ids)


def _of_columns(structure: dict[str, jax.Array], nse: int, _: Any) -> tuple[jax.Array, _Find, _Find]:
    """Return the same where columns spike: entry p is the synapse permutation[p]."""
    rows, columns = structure["ids"], rows_of(structure["indptr"], nse)
    stored = (columns >= 0) & (rows >= 0) & (rows < structure["limit"])
    # A permutation has each place once, so that a sum moves a value there.
    by_synapse = (
        sums_at(x, structure["permutation"], nse) for x in (columns, rows, stored.astype(jnp.int32))
    )
    columns, rows, count = by_synapse
    return count > 0, _at(columns), _at(rows)


def _of_dense(axis: int) -> Callable[..., tuple[jax.Array, _Find, _Find]]:
    """Return the same for a dense matrix, of which rows, axis 0, or columns spike."""

    def ends(_: Any, size: int, shape: tuple[int, int]) -> tuple[jax.Array, _Find, _Find]:
        def along(axis: int) -> _Find:
            return lambda x: jnp.broadcast_to(jnp.expand_dims(x, 1 - axis), shape).reshape(-1)

        return jnp.ones(size, bool), along(axis), along(1 - axis)

    return ends


_ENDS: Final = {ROWS: _of_rows, COLUMNS: _of_columns, DENSE_ROWS: _of_dense(0), DENSE_COLUMNS: _of_dense(1)}


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
    """Return the rule's results at active synapses, and elsewhere the synaptic variables as they are.

    stored: whether a synapse is one of the matrix.
    """
    events = at_spiking(spikes)
    active = events.astype(bool) & stored
    find = {SPIKING: at_spiking, OTHER: at_other}
    inputs = (*arrays[: rule.count], *arrays[rule.count + between :])
    read = [find[place](x) if place in find else x for x, place in zip(inputs, rule.places, strict=True)]
    # Derivatives pass at active synapses alone, where 0 times what is infinite at another is not NaN.
    said = rule.of_each(*(jnp.where(active, x, jax.lax.stop_gradient(x)) for x in read))
    left = arrays[: rule.count] if events.dtype == bool else _left(rule, read, stored)
    return tuple(jnp.where(active, new, old) for new, old in zip(said, left, strict=True))


def _left(rule: Traced, at_synapses: list[jax.Array], stored: jax.Array) -> tuple[jax.Array, ...]:
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

    return as_they_were(*at_synapses)

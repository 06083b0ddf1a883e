"""A pass in pure JAX, the definition: gather the inputs of messages, compute them, reduce them by row."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax.extend.core import jaxpr_as_fun

from event_ops.checks.arrays import is_inside
from event_ops.kernels.reference.entries import inside, rows_of, sums_at, values_at
from event_ops.messages.emit import START
from event_ops.messages.passes import COLUMN, ENTRY, ROW, Pass, Result


def build(*, of: Pass, **_: Any) -> Callable[..., tuple[jax.Array, ...]]:
    """Return the function of arrays; it makes arrays of entries times features."""

    def run(*arrays: jax.Array) -> tuple[jax.Array, ...]:
        (indices, indptr, *rest), inputs = of.divided(arrays)
        permutation = rest[0] if of.structure[0] == 3 else None
        nse, (height, columns) = indices.shape[0], of.shape
        rows = rows_of(indptr, nse)
        stored = is_inside(rows, height) & is_inside(indices, columns)
        at = {ROW: rows, COLUMN: indices, ENTRY: permutation}

        def read(x: jax.Array, place: str, axes: tuple[bool, ...]) -> jax.Array:
            ids = at.get(place)
            gathered = x if ids is None else values_at(x, ids)
            sizes = (size if has else 1 for size, has in zip(of.sizes, axes, strict=True))
            return jnp.broadcast_to(gathered.reshape(gathered.shape[0], *sizes), (nse, *of.sizes)).reshape(-1)

        places = zip(inputs, of.message.places, of.axes, strict=True)
        said = _said(of, [read(x, place, axes) for x, place, axes in places], nse)

        def gone_to(x: Result, values: jax.Array) -> jax.Array:
            if x.place == ROW:
                return _at_rows(of, values, stored, rows)
            values = jnp.where(stored[:, None], values, jnp.zeros_like(values))
            return sums_at(values, indices, columns) if x.place == COLUMN else _at_entries(of, values, x.axes)

        return tuple(map(gone_to, of.results, said))

    return run


def _said(of: Pass, inputs: list[jax.Array], nse: int) -> list[jax.Array]:
    """Return the results of the message for each entry, (nse, features)."""
    shape = nse, of.features
    if inputs:
        return [x.reshape(shape) for x in of.message.of_each(*inputs)]
    numbers = jaxpr_as_fun(of.message.jaxpr)()
    return [jnp.broadcast_to(x, shape) for x in numbers]


def _at_rows(of: Pass, values: jax.Array, stored: jax.Array, rows: jax.Array) -> jax.Array:
    start, size = jnp.asarray(START[of.reduce], values.dtype), of.shape[0]
    values = jnp.where(stored[:, None], values, start)
    if of.reduce == "sum":
        return sums_at(values, rows, size)
    places = jnp.full((size, values.shape[1]), start).at[inside(rows, size)]
    if of.reduce == "mul":
        return places.multiply(values, mode="drop")
    extrema = (places.max if of.reduce == "max" else places.min)(values, mode="drop")
    # Rows without entries are told by counting: their maximum looks like one of infinities.
    count = sums_at(stored.astype(jnp.int32), rows, size)
    return jnp.where(count[:, None] > 0, extrema, jnp.zeros_like(extrema))


def _at_entries(of: Pass, values: jax.Array, axes: tuple[bool, ...]) -> jax.Array:
    missing = tuple(k for k, has in enumerate(axes, 1) if not has)
    return values.reshape(-1, *of.sizes).sum(missing).reshape(values.shape[0], of.width(axes))

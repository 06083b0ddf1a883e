"""Sums that begin with what is given."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax.typing import ArrayLike

from event_ops.checks.arrays import check_same_dtype, check_shape


def sums_begin(initial: ArrayLike, outs: jax.ShapeDtypeStruct, name: str, weights: jax.Array) -> jax.Array:
    """`initial`, one for all or one for each, as the array to which the weights called `name` are added."""
    given = jnp.asarray(initial, outs.dtype if isinstance(initial, int | float) else None)
    check_same_dtype("initial", given, name, weights)
    check_shape("initial", given, (), outs.shape, why="one for all, or one for each element of the output")
    return jnp.broadcast_to(given, outs.shape)

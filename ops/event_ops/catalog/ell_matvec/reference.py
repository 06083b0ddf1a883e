"""`ell_matvec` in pure JAX: its definition."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from event_ops.checks.arrays import is_inside
from event_ops.kernels.reference.entries import sums_at, values_at


def matvec(data: jax.Array, indices: jax.Array, v: jax.Array, *, shape: tuple[int, int]) -> jax.Array:
    """y[i] = sum over k of data[i, k] * v[indices[i, k]]."""
    weights = jnp.where(is_inside(indices, shape[1]), data, 0)
    return jnp.sum(weights * values_at(v, indices), axis=1, dtype=data.dtype)


def matvec_transposed(
    data: jax.Array, indices: jax.Array, v: jax.Array, *, shape: tuple[int, int]
) -> jax.Array:
    """y[j] = sum over the entries (i, k) of column j of data[i, k] * v[i]."""
    return sums_at((data * v[:, None]).reshape(-1), indices.reshape(-1), shape[1])


def build(*, outs: Any, shape: tuple[int, int], transpose: bool, **_: Any) -> Callable[..., jax.Array]:
    """Return `ell_matvec` for one orientation."""
    product = matvec_transposed if transpose else matvec
    return lambda data, indices, v: product(data.astype(outs.dtype), indices, v, shape=shape)

"""`csr_matvec` in pure JAX: its definition."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from event_ops.entries import inside, rows_of, sums_at, values_at


def matvec(
    data: jax.Array, indices: jax.Array, indptr: jax.Array, v: jax.Array, *, shape: tuple[int, int]
) -> jax.Array:
    """y[i] = sum over the entries k of row i of data[k] * v[indices[k]]."""
    weights = jnp.where(inside(indices, shape[1]) < shape[1], data, 0)
    return sums_at(weights * values_at(v, indices), rows_of(indptr, indices.shape[0]), shape[0])


def matvec_transposed(
    data: jax.Array, indices: jax.Array, indptr: jax.Array, v: jax.Array, *, shape: tuple[int, int]
) -> jax.Array:
    """y[j] = sum over the entries k of column j of data[k] * v[row of k]."""
    return sums_at(data * values_at(v, rows_of(indptr, indices.shape[0])), indices, shape[1])


def generator(*, shape: tuple[int, int], transpose: bool, **_: Any) -> Callable[..., jax.Array]:
    """The function of arrays for one orientation."""
    product = matvec_transposed if transpose else matvec
    return lambda data, indices, indptr, v: product(data, indices, indptr, v, shape=shape)

"""`csr_todense` in pure JAX: its definition."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from event_ops.kernels.reference.entries import inside, rows_of


def todense(data: jax.Array, indices: jax.Array, indptr: jax.Array, *, shape: tuple[int, int]) -> jax.Array:
    """D[i, j] = sum of data[k] over the entries k of row i with indices[k] = j."""
    rows = inside(rows_of(indptr, indices.shape[0]), shape[0])
    return jnp.zeros(shape, data.dtype).at[rows, inside(indices, shape[1])].add(data, mode="drop")


def build(*, outs: Any, **_: Any) -> Callable[..., jax.Array]:
    """Return `csr_todense` for one shape."""
    return lambda data, indices, indptr: todense(data.astype(outs.dtype), indices, indptr, shape=outs.shape)

"""`csr_matvec` in pure JAX: its definition."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from event_ops.checks.arrays import is_inside
from event_ops.kernels.reference.entries import ends_of, sums_at, values_at


def build(*, outs: Any, shape: tuple[int, int], transpose: bool, **_: Any) -> Callable[..., jax.Array]:
    """Return `csr_matvec` for one orientation."""

    def matvec(data: jax.Array, indices: jax.Array, indptr: jax.Array, v: jax.Array) -> jax.Array:
        """y[i] = sum over the entries k of row i of data[k] * v[indices[k]]; transposed, y[j] of column j."""
        (ids, size), (sources, height) = ends_of(indices, indptr, shape, transpose)
        weights = jnp.where(is_inside(sources, height), data.astype(outs.dtype), 0)
        return sums_at(weights * values_at(v, sources), ids, size)

    return matvec

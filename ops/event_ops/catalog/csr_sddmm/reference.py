"""`csr_sddmm` in pure JAX: its definition."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from event_ops.checks.arrays import is_inside
from event_ops.kernels.reference.entries import rows_of, values_at


def build(*, shape: tuple[int, int], **_: Any) -> Callable[..., jax.Array]:
    """Return `csr_sddmm`; X and Y have the same rank."""

    def sddmm(indices: jax.Array, indptr: jax.Array, X: jax.Array, Y: jax.Array) -> jax.Array:
        """out[k] = sum over n of X[row of k, n] * Y[indices[k], n]."""
        rows = rows_of(indptr, indices.shape[0])
        terms = _product(values_at(X, rows), values_at(Y, indices))
        sums = terms.sum(axis=1, dtype=terms.dtype) if terms.ndim == 2 else terms
        known = (is_inside(rows, shape[0])) & (is_inside(indices, shape[1]))
        return jnp.where(known, sums, 0)

    return sddmm


def _product(x: jax.Array, y: jax.Array) -> jax.Array:
    if x.dtype == bool:
        return jnp.where(x, y, 0)
    return jnp.where(y, x, 0) if y.dtype == bool else x * y

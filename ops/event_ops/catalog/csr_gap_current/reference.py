"""`csr_gap_current` in pure JAX: its definition."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from event_ops.checks.arrays import is_inside
from event_ops.kernels.reference.entries import rows_of, sums_at, values_at


def build(*, shape: tuple[int, int], **_: Any) -> Callable[..., jax.Array]:
    """Return `csr_gap_current` for one shape."""
    neurons = shape[0]

    def gap_current(data: jax.Array, indices: jax.Array, indptr: jax.Array, v: jax.Array) -> jax.Array:
        """y[i] = sum over the entries k of row i of data[k] * (v[indices[k]] - v[i])."""
        rows = rows_of(indptr, indices.shape[0])
        differences = values_at(v, indices) - values_at(v, rows)
        terms = jnp.where(is_inside(indices, neurons), data * differences, 0)
        return sums_at(terms, rows, neurons)

    return gap_current

"""`csr_scale_rows` in pure JAX: its definition."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from event_ops.checks.arrays import is_inside
from event_ops.kernels.reference.entries import rows_of, values_at


def build(**_: Any) -> Callable[..., jax.Array]:
    """Return `csr_scale_rows`."""

    def scale_rows(data: jax.Array, indptr: jax.Array, x: jax.Array) -> jax.Array:
        """out[k] = data[k] * x[row of k]; bools choose."""
        rows = rows_of(indptr, data.shape[0])
        at = values_at(x, rows)
        scaled = jnp.where(at, data, 0) if x.dtype == bool else data * at
        return jnp.where(is_inside(rows, x.shape[0]), scaled, 0)

    return scale_rows

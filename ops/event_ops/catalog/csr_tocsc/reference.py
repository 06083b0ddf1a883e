"""`csr_tocsc` in pure JAX: its definition."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from event_ops.kernels.reference.entries import inside, rows_of


def build(*, outs: Any, shape: tuple[int, int], **_: Any) -> Callable[..., Any]:
    """Return `csr_tocsc`, a stable sort of the entries by column; those of no row or column last."""
    rows, columns = shape

    def tocsc(indices: jax.Array, indptr: jax.Array) -> tuple[jax.Array, ...]:
        row = inside(rows_of(indptr, indices.shape[0]), rows)
        column = jnp.where(row < rows, inside(indices, columns), jnp.asarray(columns, indices.dtype))
        permutation = jnp.argsort(column, stable=True)
        ends = jnp.searchsorted(column[permutation], jnp.arange(columns + 1, dtype=column.dtype))
        parts = row[permutation], ends, permutation
        return tuple(x.astype(out.dtype) for x, out in zip(parts, outs, strict=True))

    return tocsc

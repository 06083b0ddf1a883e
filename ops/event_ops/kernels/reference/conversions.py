"""CSR matrices as CSC and as dense arrays, in pure JAX: a stable sort, and a scatter."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from event_ops.kernels.reference.entries import inside, rows_of


def csr_tocsc(*, outs: Any, shape: tuple[int, int], **_: Any) -> Callable[..., Any]:
    """Return `csr_tocsc`, a stable sort of the entries by column; entries of no row or column are last."""
    rows, columns = shape

    def tocsc(indices: jax.Array, indptr: jax.Array) -> tuple[jax.Array, ...]:
        row = inside(rows_of(indptr, indices.shape[0]), rows)
        column = jnp.where(row < rows, inside(indices, columns), jnp.asarray(columns, indices.dtype))
        return sorted_by_column(row, column, columns, outs)

    return tocsc


def sorted_by_column(row: jax.Array, column: jax.Array, columns: int, outs: Any) -> tuple[jax.Array, ...]:
    """Return `csr_tocsc` of entries whose row and column are given; `columns` stands for none."""
    kind = outs[2].dtype
    in_order, permutation = jax.lax.sort((column, jnp.arange(column.size, dtype=kind)), num_keys=1)
    ends = jnp.searchsorted(in_order, jnp.arange(columns + 1, dtype=column.dtype))
    parts = row[permutation], ends, permutation
    return tuple(x.astype(out.dtype) for x, out in zip(parts, outs, strict=True))


def todense(data: jax.Array, indices: jax.Array, indptr: jax.Array, *, shape: tuple[int, int]) -> jax.Array:
    """D[i, j] = sum of data[k] over the entries k of row i with indices[k] = j."""
    rows = inside(rows_of(indptr, indices.shape[0]), shape[0])
    return jnp.zeros(shape, data.dtype).at[rows, inside(indices, shape[1])].add(data, mode="drop")


def csr_todense(*, outs: Any, **_: Any) -> Callable[..., jax.Array]:
    """Return `csr_todense` for one shape."""
    return lambda data, indices, indptr: todense(data.astype(outs.dtype), indices, indptr, shape=outs.shape)

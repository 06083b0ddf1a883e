"""Products of a CSR matrix in pure JAX: definitions, as sums of a term for each entry."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from event_ops.checks.arrays import is_inside
from event_ops.kernels.reference.entries import (
    along,
    chosen_product,
    ends_of,
    event_terms,
    one_each,
    rows_of,
    sums_at,
    values_at,
)


def csr_matmat(*, outs: Any, shape: tuple[int, int], transpose: bool, **_: Any) -> Callable[..., jax.Array]:
    """Return the product for one orientation, with a matrix or a vector."""

    def matmat(data: jax.Array, indices: jax.Array, indptr: jax.Array, B: jax.Array) -> jax.Array:
        """Y[i] = sum over the entries k of row i of data[k] * B[indices[k]]; transposed, Y[j] of column j."""
        (ids, size), (sources, height) = ends_of(indices, indptr, shape, transpose)
        weights = jnp.where(is_inside(sources, height), data.astype(outs.dtype), 0)
        return sums_at(along(weights, B) * values_at(B, sources), ids, size)

    return matmat


def csr_event_matvec(
    *, outs: Any, shape: tuple[int, int], transpose: bool, **_: Any
) -> Callable[..., jax.Array]:
    """Return the product with events, in any encoding, for one orientation."""
    product = csr_event_matmat(outs=outs, shape=shape, transpose=transpose)

    def event_matvec(data: jax.Array, indices: jax.Array, indptr: jax.Array, events: Any, *p: Any) -> Any:
        return product(data, indices, indptr, one_each(events, shape[not transpose], outs.dtype), *p)

    return event_matvec


def csr_event_matmat(
    *, outs: Any, shape: tuple[int, int], transpose: bool, **_: Any
) -> Callable[..., jax.Array]:
    """Return the product with a matrix of events, or a vector, for one orientation."""

    def event_matmat(
        data: jax.Array, indices: jax.Array, indptr: jax.Array, events: jax.Array, *permutation: jax.Array
    ) -> jax.Array:
        """Y[i] = sum over the entries k of row i of data[k] * events[indices[k]]; transposed, of column j."""
        weights = values_at(data, *permutation) if permutation else data
        (ids, size), (sources, _) = ends_of(indices, indptr, shape, transpose)
        return sums_at(event_terms(weights.astype(outs.dtype), values_at(events, sources)), ids, size)

    return event_matmat


csr_matvec = csr_matmat


def csr_gap_current(*, shape: tuple[int, int], **_: Any) -> Callable[..., jax.Array]:
    """Return the current for one shape."""
    neurons = shape[0]

    def gap_current(data: jax.Array, indices: jax.Array, indptr: jax.Array, v: jax.Array) -> jax.Array:
        """y[i] = sum over the entries k of row i of data[k] * (v[indices[k]] - v[i])."""
        rows = rows_of(indptr, indices.shape[0])
        differences = values_at(v, indices) - values_at(v, rows)
        terms = jnp.where(is_inside(indices, neurons), data * differences, 0)
        return sums_at(terms, rows, neurons)

    return gap_current


def csr_sddmm(*, shape: tuple[int, int], **_: Any) -> Callable[..., jax.Array]:
    """Return the sampled product of X and Y, which have the same rank."""

    def sddmm(indices: jax.Array, indptr: jax.Array, X: jax.Array, Y: jax.Array) -> jax.Array:
        """out[k] = sum over n of X[row of k, n] * Y[indices[k], n]."""
        rows = rows_of(indptr, indices.shape[0])
        terms = chosen_product(values_at(X, rows), values_at(Y, indices))
        sums = terms.sum(axis=1, dtype=terms.dtype) if terms.ndim == 2 else terms
        stored = (is_inside(rows, shape[0])) & (is_inside(indices, shape[1]))
        return jnp.where(stored, sums, 0)

    return sddmm


def csr_scale_rows(**_: Any) -> Callable[..., jax.Array]:
    """Return the scaled weights."""

    def scale_rows(data: jax.Array, indptr: jax.Array, x: jax.Array) -> jax.Array:
        """out[k] = data[k] * x[row of k]; bools choose."""
        rows = rows_of(indptr, data.shape[0])
        return jnp.where(is_inside(rows, x.shape[0]), chosen_product(values_at(x, rows), data), 0)

    return scale_rows

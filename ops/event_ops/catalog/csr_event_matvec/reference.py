"""`csr_event_matvec` in pure JAX: its definition."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax

from event_ops.parts.reference.entries import event_terms, one_each, rows_of, sums_at, values_at


def event_matvec(
    data: jax.Array, indices: jax.Array, indptr: jax.Array, events: jax.Array, *, shape: tuple[int, int]
) -> jax.Array:
    """y[i] = sum over the entries k of row i of data[k] * events[indices[k]]."""
    terms = event_terms(data, values_at(events, indices))
    return sums_at(terms, rows_of(indptr, indices.shape[0]), shape[0])


def event_matvec_transposed(
    data: jax.Array, indices: jax.Array, indptr: jax.Array, events: jax.Array, *, shape: tuple[int, int]
) -> jax.Array:
    """y[j] = sum over the entries k of column j of data[k] * events[row of k]."""
    terms = event_terms(data, values_at(events, rows_of(indptr, indices.shape[0])))
    return sums_at(terms, indices, shape[1])


def build(*, shape: tuple[int, int], transpose: bool, **_: Any) -> Callable[..., jax.Array]:
    """The function of arrays for one orientation."""
    product = event_matvec_transposed if transpose else event_matvec

    def call(data: jax.Array, indices: jax.Array, indptr: jax.Array, events: jax.Array) -> jax.Array:
        flat = one_each(events, shape[0 if transpose else 1], data.dtype)
        return product(data, indices, indptr, flat, shape=shape)

    return call

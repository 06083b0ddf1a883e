"""`ell_event_matvec` in pure JAX: its definition."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from event_ops.checks.arrays import is_inside
from event_ops.kernels.reference.entries import event_terms, sums_at, values_at


def event_matvec(
    data: jax.Array, indices: jax.Array, events: jax.Array, *, shape: tuple[int, int]
) -> jax.Array:
    """y[i] = sum over k of data[i, k] * events[indices[i, k]]."""
    terms = event_terms(data, values_at(events, indices))
    return jnp.sum(jnp.where(is_inside(indices, shape[1]), terms, 0), axis=1)


def event_matvec_transposed(
    data: jax.Array, indices: jax.Array, events: jax.Array, *, shape: tuple[int, int]
) -> jax.Array:
    """y[j] = sum over the entries (i, k) of column j of data[i, k] * events[i]."""
    terms = event_terms(data, jnp.broadcast_to(events[:, None], indices.shape))
    return sums_at(terms.reshape(-1), indices.reshape(-1), shape[1])


def build(*, outs: Any, shape: tuple[int, int], transpose: bool, **_: Any) -> Callable[..., jax.Array]:
    """Return `ell_event_matvec` for one orientation."""
    product = event_matvec_transposed if transpose else event_matvec
    return lambda data, indices, events: product(data.astype(outs.dtype), indices, events, shape=shape)

"""Products of a dense matrix with events in pure JAX: the definition of the dense operators."""

from collections.abc import Callable
from typing import Any

import jax

from event_ops.kernels.reference.entries import event_terms


def product(*, outs: Any, transpose: bool, **_: Any) -> Callable[..., jax.Array]:
    """Return `(weights, events) -> y`, the sums along rows or columns, for a vector or a matrix of events."""

    def call(weights: jax.Array, events: jax.Array) -> jax.Array:
        along = events[:, None] if transpose else events[None]
        return event_terms(weights.astype(outs.dtype), along).sum(axis=0 if transpose else 1)

    return call


dense_event_matvec = dense_event_matmat = product

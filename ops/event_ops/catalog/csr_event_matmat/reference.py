"""`csr_event_matmat` in pure JAX: its definition."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax

from event_ops.parts.reference.entries import event_terms, rows_of, sums_at, values_at


def build(*, shape: tuple[int, int], transpose: bool, **_: Any) -> Callable[..., jax.Array]:
    """The function of arrays for one orientation."""

    def event_matmat(data: jax.Array, indices: jax.Array, indptr: jax.Array, events: jax.Array) -> jax.Array:
        """Y[i] = sum over the entries k of row i of data[k] * events[indices[k]]; transposed, of column j."""
        rows = rows_of(indptr, indices.shape[0])
        ids, sources, size = (indices, rows, shape[1]) if transpose else (rows, indices, shape[0])
        return sums_at(event_terms(data, values_at(events, sources)), ids, size)

    return event_matmat

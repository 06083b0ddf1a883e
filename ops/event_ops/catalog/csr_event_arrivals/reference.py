"""`csr_event_arrivals` in pure JAX: its definition."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax

from event_ops.kernels.reference.entries import event_terms, rows_of, sums_at, values_at
from event_ops.kernels.reference.history import lagged


def build(*, shape: tuple[int, int], **_: Any) -> Callable[..., jax.Array]:
    """Return `csr_event_arrivals` for one shape."""

    def csr_event_arrivals(
        history: jax.Array,
        data: jax.Array,
        indices: jax.Array,
        indptr: jax.Array,
        slot: jax.Array,
        initial: jax.Array,
    ) -> jax.Array:
        events = lagged(history, slot, shape[0], initial.dtype)
        terms = event_terms(data.astype(initial.dtype), values_at(events, rows_of(indptr, indices.shape[0])))
        return initial + sums_at(terms, indices, shape[1])

    return csr_event_arrivals

"""`csr_event_matvec` in pure JAX: its definition."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax

from event_ops.kernels.reference.entries import ends_of, event_terms, one_each, sums_at, values_at


def build(*, outs: Any, shape: tuple[int, int], transpose: bool, **_: Any) -> Callable[..., jax.Array]:
    """Return `csr_event_matvec` for one orientation."""

    def event_matvec(
        data: jax.Array, indices: jax.Array, indptr: jax.Array, events: jax.Array, *permutation: jax.Array
    ) -> jax.Array:
        """y[i] = sum over the entries k of row i of data[k] * events[indices[k]]; transposed, of column j."""
        weights = values_at(data, *permutation) if permutation else data
        (ids, size), (sources, height) = ends_of(indices, indptr, shape, transpose)
        flat = one_each(events, height, outs.dtype)
        return sums_at(event_terms(weights.astype(outs.dtype), values_at(flat, sources)), ids, size)

    return event_matvec

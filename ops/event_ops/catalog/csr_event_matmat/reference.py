"""`csr_event_matmat` in pure JAX: its definition."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax

from event_ops.kernels.reference.entries import ends_of, event_terms, sums_at, values_at


def build(*, outs: Any, shape: tuple[int, int], transpose: bool, **_: Any) -> Callable[..., jax.Array]:
    """Return `csr_event_matmat` for one orientation."""

    def event_matmat(
        data: jax.Array, indices: jax.Array, indptr: jax.Array, events: jax.Array, *permutation: jax.Array
    ) -> jax.Array:
        """Y[i] = sum over the entries k of row i of data[k] * events[indices[k]]; transposed, of column j."""
        weights = values_at(data, *permutation) if permutation else data
        (ids, size), (sources, _) = ends_of(indices, indptr, shape, transpose)
        return sums_at(event_terms(weights.astype(outs.dtype), values_at(events, sources)), ids, size)

    return event_matmat

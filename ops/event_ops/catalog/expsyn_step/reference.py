"""`expsyn_step` in pure JAX: its definition."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax

from event_ops.kernels.reference.entries import event_terms, rows_of, sums_at, values_at


def build(*, shape: tuple[int, int], **_: Any) -> Callable[..., jax.Array]:
    """Return `expsyn_step` for one shape; decay is exp(-dt / tau), one per channel or per element of g."""

    def expsyn_step(
        g: jax.Array,
        data: jax.Array,
        indices: jax.Array,
        indptr: jax.Array,
        spikes: jax.Array,
        decay: jax.Array,
    ) -> jax.Array:
        terms = event_terms(data, values_at(spikes, rows_of(indptr, indices.shape[0])))
        return g * decay + sums_at(terms, indices, shape[1]).reshape(g.shape)

    return expsyn_step

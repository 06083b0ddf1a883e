"""`stdp_on_pre` in pure JAX: its definition."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax

from event_ops.parts.reference.entries import rows_of
from event_ops.parts.reference.plasticity import change_at, moved


def stdp_on_pre(
    w: jax.Array,
    indices: jax.Array,
    indptr: jax.Array,
    spikes_pre: jax.Array,
    x_post: jax.Array,
    amount: jax.Array,
    w_min: jax.Array,
    w_max: jax.Array,
) -> jax.Array:
    """w + amount * spikes_pre[row] * x_post[column], bounded, at the entries of rows that spike."""
    rows = rows_of(indptr, indices.shape[0])
    moves = change_at(spikes_pre, rows, x_post, indices)
    return moved(w, amount, *moves, w_min, w_max)


def build(**_: Any) -> Callable[..., jax.Array]:
    """Return `stdp_on_pre`, whose amount is -A_minus."""
    return stdp_on_pre

"""`stdp_on_post` in pure JAX: its definition."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from event_ops.parts.reference.entries import rows_of, sums_at
from event_ops.parts.reference.plasticity import change_at, moved


def stdp_on_post(
    w: jax.Array,
    rows: jax.Array,
    indptr: jax.Array,
    permutation: jax.Array,
    spikes_post: jax.Array,
    x_pre: jax.Array,
    amount: jax.Array,
    w_min: jax.Array,
    w_max: jax.Array,
) -> jax.Array:
    """w + amount * spikes_post[column] * x_pre[row], bounded, at the entries of columns that spike."""
    nse = rows.shape[0]
    columns = rows_of(indptr, nse)
    change, *masks = change_at(spikes_post, columns, x_pre, rows)
    by_row = sums_at(change, permutation, nse)
    active, passing = (sums_at(mask.astype(jnp.int32), permutation, nse) > 0 for mask in masks)
    return moved(w, amount, by_row, active, passing, w_min, w_max)


def build(**_: Any) -> Callable[..., jax.Array]:
    """Return `stdp_on_post`, whose amount is A_plus."""
    return stdp_on_post

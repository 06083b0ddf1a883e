"""`csr_normalize` in pure JAX: its definition."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from event_ops.kernels.reference.entries import inside, rows_of, sums_at, values_at


def build(*, subtractive: bool, **_: Any) -> Callable[..., jax.Array]:
    """Return `csr_normalize`; entry p has the weight data[permutation[p]], or data[p] without one."""

    def normalize(
        data: jax.Array, indices: jax.Array, indptr: jax.Array, target: jax.Array, active: jax.Array,
        limit: jax.Array, *permutation: jax.Array,
    ) -> jax.Array:  # fmt: skip
        (nse,), (rows,) = data.shape, active.shape
        row = rows_of(indptr, nse)
        places = inside(permutation[0], nse) if permutation else jnp.arange(nse)
        moves = values_at(active, row) & (indices >= 0) & (indices < limit) & (places < nse)
        # Derivatives pass at active rows alone, where 0 times what is infinite at another is not NaN.
        w = jnp.where(moves, values_at(data, places), 0)
        total = sums_at(w if subtractive else jnp.abs(w), row, rows)
        goal = jnp.where(active, target, 0)
        if subtractive:
            count = jnp.maximum(sums_at(moves.astype(w.dtype), row, rows), 1)
            moved = w + values_at((goal - total) / count, row)
        else:
            factor = jnp.where(total > 0, goal / jnp.where(total > 0, total, 1), 1)
            moved = w * values_at(jnp.where(jnp.isnan(total), total, factor), row)
        return data.at[jnp.where(moves, places, nse)].set(moved, mode="drop")

    return normalize

"""What arrives in a step through synapses with delays, from products with the parts of a matrix of words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from event_ops.checks.words import width_of
from event_ops.parts.reference.history import lagged


def arrivals(
    product: Callable[..., jax.Array],
    history: jax.Array,
    entries: jax.Array,
    indptr: jax.Array,
    scale: jax.Array,
    slot: jax.Array,
    shape: tuple[int, int],
    dtype: Any,
) -> jax.Array:
    """(columns,), in `dtype`: `product(entries, ends, scales, events, shape=...)` of each part, in turn.

    That is C.T @ (scales * events), where C has the codes of one part: a row for each neuron and delay.
    """
    (rows, columns), (slots, parts) = shape, (history.shape[0], indptr.shape[0])
    events = lagged(history, slot, rows, dtype).astype(dtype)
    scales = jnp.repeat(scale, slots) if scale.ndim else scale
    size = rows * slots, width_of(columns, parts)
    sums = [product(entries, indptr[part], scales, events, shape=size) for part in range(parts)]
    return jnp.concatenate(sums)[:columns]

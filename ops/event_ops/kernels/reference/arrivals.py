"""What arrives in a step through synapses with delays, from products with the parts of a matrix of words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from event_ops.kernels.reference.history import lagged


class Part(NamedTuple):
    """The operands of a product C.T @ (scale * events), where C has the codes of one part.

    C has a row for each neuron and delay, and its columns are counted from the first of the part.
    """

    entries: jax.Array
    indptr: jax.Array
    scale: jax.Array
    events: jax.Array
    shape: tuple[int, int]


def arrivals(
    product: Callable[[Part], jax.Array], shape: tuple[int, int], dtype: Any
) -> Callable[..., jax.Array]:
    """Return `compact_event_arrivals` for one shape, from the product of a part; sums are in `dtype`."""

    def compact_event_arrivals(
        history: jax.Array,
        entries: jax.Array,
        indptr: jax.Array,
        scale: jax.Array,
        slot: jax.Array,
        starts: jax.Array,
        initial: jax.Array | float,
    ) -> jax.Array:
        (rows, columns), (slots, parts) = shape, (history.shape[0], indptr.shape[0])
        events = lagged(history, slot, rows, dtype).astype(dtype)
        scales = jnp.repeat(scale, slots) if scale.ndim else scale
        size, targets = (rows * slots, columns), jnp.arange(columns, dtype=starts.dtype)
        total = jnp.zeros(columns, dtype)
        for part in range(parts):
            sums = product(Part(entries, indptr[part], scales, events, size))
            own = (starts[part] <= targets) & (targets < starts[part + 1])
            total = jnp.where(own, jnp.roll(sums, starts[part]), total)
        return initial + total

    return compact_event_arrivals

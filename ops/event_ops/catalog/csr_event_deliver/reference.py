"""`csr_event_deliver` in pure JAX: its definition."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax

from event_ops.checks.ring_buffer import arrival_slots
from event_ops.kernels.reference.entries import event_terms, inside, rows_of, values_at


def csr_event_deliver(
    buffer: jax.Array,
    data: jax.Array,
    indices: jax.Array,
    indptr: jax.Array,
    delays: jax.Array,
    spikes: jax.Array,
    slot: jax.Array,
) -> jax.Array:
    """Add each entry of an active row to its column of the slot in which its delay ends."""
    slots, columns = buffer.shape
    terms = event_terms(data.astype(buffer.dtype), values_at(spikes, rows_of(indptr, indices.shape[0])))
    places = arrival_slots(delays, slot, slots), inside(indices, columns)
    return buffer.at[places].add(terms, mode="drop")


def build(**_: Any) -> Callable[..., jax.Array]:
    """Return `csr_event_deliver`."""
    return csr_event_deliver

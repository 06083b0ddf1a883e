"""Arrivals through synapses, most with delays, in pure JAX: definitions."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from event_ops.checks.ring_buffer import arrival_slots, slot_index
from event_ops.kernels.reference.entries import event_terms, inside, rows_of, sums_at, values_at
from event_ops.kernels.reference.history import lagged
from event_ops.kernels.reference.packed_entries import transposed_product


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
            # A product counts columns from the first of its part: they are turned to where the part is.
            in_part = (starts[part] <= targets) & (targets < starts[part + 1])
            total = jnp.where(in_part, jnp.roll(sums, starts[part]), total)
        return initial + total

    return compact_event_arrivals


def compact_event_arrivals(*, outs: Any, shape: tuple[int, int], **_: Any) -> Callable[..., jax.Array]:
    """Return `compact_event_arrivals` for one shape."""
    return arrivals(lambda part: transposed_product(*part, outs.dtype), shape, outs.dtype)


def csr_event_arrivals(*, shape: tuple[int, int], **_: Any) -> Callable[..., jax.Array]:
    """Return `csr_event_arrivals` for one shape."""

    def event_arrivals(
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

    return event_arrivals


def csr_event_deliver(**_: Any) -> Callable[..., jax.Array]:
    """Return `csr_event_deliver`."""

    def event_deliver(
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

    return event_deliver


def read_slot(**_: Any) -> Callable[..., tuple[jax.Array, jax.Array]]:
    """Return `read_slot`."""

    def read_and_clear(buffer: jax.Array, slot: jax.Array) -> tuple[jax.Array, jax.Array]:
        now = slot_index(slot, buffer.shape[0])
        arrived = jax.lax.dynamic_index_in_dim(buffer, now, keepdims=False)
        return arrived, jax.lax.dynamic_update_index_in_dim(buffer, jnp.zeros_like(arrived), now, 0)

    return read_and_clear


def expsyn_step(*, shape: tuple[int, int], **_: Any) -> Callable[..., jax.Array]:
    """Return `expsyn_step` for one shape; decay is exp(-dt / tau), one per channel or per element of g."""

    def step(
        g: jax.Array,
        data: jax.Array,
        indices: jax.Array,
        indptr: jax.Array,
        spikes: jax.Array,
        decay: jax.Array,
    ) -> jax.Array:
        terms = event_terms(data, values_at(spikes, rows_of(indptr, indices.shape[0])))
        return g * decay + sums_at(terms, indices, shape[1]).reshape(g.shape)

    return step

"""BrainEvent's plasticity, delays and ids of events by operators of the catalog."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from event_ops.brainevent.products import Call, events_of
from event_ops.catalog.csr_event_deliver.op import csr_event_deliver
from event_ops.catalog.spike_compact.op import spike_compact
from event_ops.catalog.stdp_on_post.op import stdp_on_post
from event_ops.catalog.stdp_on_pre.op import stdp_on_pre

_SLOTS = ("int32", "int64", "uint32")
_WAITS_FOR_MEMORY = 1 << 22  # entries: ours takes 0.9 of BrainEvent's time with 3.2 M, 1.1 with 4.8 M
_LOW, _HIGH = -jnp.inf, jnp.inf  # BrainEvent clips afterwards


def csr_on_pre(*, shape: tuple[int, int], **_: Any) -> Call:
    """Build `w[k] += trace[indices[k]]` for the entries k of rows that spike."""

    def call(w: Any, indices: Any, indptr: Any, spikes: Any, trace: Any) -> tuple[jax.Array, ...]:
        active, x = events_of(spikes, False, w), -trace.astype(w.dtype)
        return (stdp_on_pre(w, indices, indptr, active, x, shape=shape, A_minus=1, w_min=_LOW, w_max=_HIGH),)

    return call


def csr_on_post(*, shape: tuple[int, int], **_: Any) -> Call:
    """Build `w[permutation[k]] += trace[rows[k]]` for the entries k of columns that spike."""

    def call(
        w: Any, rows: Any, indptr: Any, permutation: Any, trace: Any, spikes: Any
    ) -> tuple[jax.Array, ...]:
        active, x = events_of(spikes, False, w), trace.astype(w.dtype)
        structure = rows, indptr, permutation.astype(rows.dtype)
        return (stdp_on_post(w, *structure, active, x, shape=shape, A_plus=1, w_min=_LOW, w_max=_HIGH),)

    return call


def fixed_on_pre(*, indices_info: Any, trace_info: Any, **_: Any) -> Call:
    """Build `w[i, k] += trace[indices[i, k]]` for rows i that spike."""
    rows, per_row = indices_info.shape
    of_rows = csr_on_pre(shape=(rows, trace_info.shape[0]))

    def call(w: Any, indices: Any, spikes: Any, trace: Any) -> tuple[jax.Array, ...]:
        indptr = jnp.arange(rows + 1, dtype=jnp.int32) * per_row
        (changed,) = of_rows(w.reshape(-1), indices.reshape(-1), indptr, spikes, trace)
        return (changed.reshape(w.shape),)

    return call


def delay_deliver(*, indices_info: Any, **params: Any) -> Call | None:
    """Build `delay_deliver_layout` up to the size at which both wait for memory alike."""
    return delay_deliver_layout(**params) if indices_info.size <= _WAITS_FOR_MEMORY else None


def delay_deliver_layout(*, shape: tuple[int, int], weighted: bool = False, **_: Any) -> Call:
    """Build `ring[(t + delays[k]) % L, indices[k]] += w[k]` for the entries k of rows that spike."""

    def call(
        ring: Any, events: Any, w: Any, indices: Any, indptr: Any, delays: Any, *pointers_and_t: Any
    ) -> tuple[jax.Array, ...]:
        t = pointers_and_t[-1]
        wide = t if t.dtype.itemsize < 4 else jnp.remainder(t, jnp.asarray(ring.shape[0], t.dtype))
        slot = t if t.dtype in _SLOTS else wide.astype(jnp.int32)
        spikes = events_of(events, weighted, ring)
        return (csr_event_deliver(ring, w, indices, indptr, delays, spikes, slot, shape=shape),)

    return call


def ids_of_events(**_: Any) -> Call:
    """Build the ids of active events, with 0 in places that are not used, and their number."""

    def call(x: Any) -> tuple[jax.Array, ...]:
        ids, count = spike_compact(events_of(x, False, x))
        return jnp.where(ids < x.size, ids, 0), count.reshape(1)

    return call

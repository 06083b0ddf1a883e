"""A step of a projection that learns, of operators of the catalog: the definition."""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from event_ops import plasticity
from event_ops.catalog.csr_event_arrivals.op import csr_event_arrivals
from event_ops.catalog.unpack_events.op import unpack_events
from event_ops.network.plasticity import WEIGHT, Plasticity
from event_ops.network.projections import Projection

Synapses = dict[str, jax.Array]  # the weights of a projection that learns, and its traces


def first_synapses(parts: Sequence[Projection]) -> tuple[Synapses, ...]:
    """Return the synapses of projections at the beginning, which are () where none learns."""
    return tuple(map(_first, parts)) if any(part.plasticity is not None for part in parts) else ()


def _first(part: Projection) -> Synapses:
    learning = part.plasticity
    A: Any = part.A
    if learning is None:
        return {}
    # A copy: a run that takes the memory of a state leaves that of the matrix alone.
    w = jnp.array(jnp.broadcast_to(A.data, A.indices.shape), copy=True)
    ends = zip(("pre", "post"), part.shape, strict=True)
    traces = {name: jnp.zeros(n, w.dtype) for side, n in ends for name in learning.names(side)}
    return {WEIGHT: w} | traces


def learned(
    part: Projection, synapses: Synapses, sent: jax.Array, back: jax.Array, step: jax.Array, sums: jax.Array
) -> tuple[jax.Array, Synapses]:
    """Return the sums with the arrivals of a step added, and the synapses after it.

    sent, back: the histories of the neurons that send and that receive.
    """
    learning: Any = part.plasticity
    sending = fired(sent, step - part.ages[0], part.shape[0])
    # Rules are about events: derivatives pass through what is delivered alone.
    arriving = sending.astype(bool)
    returning = fired(back, step - learning.post_delay, part.shape[1]).astype(bool)
    w, decayed = synapses[WEIGHT], _decayed(learning, synapses)
    raised_pre = decayed | _raised(learning, "pre", decayed, arriving)
    if learning.post_first:
        w = _changed(part, 1, w, decayed, returning)
    w = _changed(part, 0, w, decayed, arriving)
    A: Any = part.A
    sums = csr_event_arrivals(sending[None], w, A.indices, A.indptr, 0, shape=part.shape, initial=sums)
    if not learning.post_first:
        # Delivered first, so that weights change in place.
        w, sums = jax.lax.optimization_barrier((w, sums))
        w = _changed(part, 1, w, raised_pre, returning)
    return sums, {WEIGHT: w} | raised_pre | _raised(learning, "post", decayed, returning)


def fired(history: jax.Array, step: jax.Array, n: int) -> jax.Array:
    """Return who spiked in a step of a history, as flags or numbers."""
    row = history[step % history.shape[0]]
    return unpack_events(row, n=n) if row.dtype == np.uint32 else row


def _decayed(learning: Plasticity, synapses: Synapses) -> Synapses:
    traces: Synapses = {}
    for side in ("pre", "post"):
        names = learning.names(side)
        for name, decay in zip(names, learning.decays(side, synapses[WEIGHT].dtype), strict=True):
            traces[name] = synapses[name] * decay
    # A product that is rounded, as others read it: with the sum behind it, it could become one instruction.
    return jax.lax.optimization_barrier(traces)


def _raised(learning: Plasticity, side: str, traces: Synapses, spikes: jax.Array) -> Synapses:
    return {name: jnp.where(spikes, traces[name] + 1, traces[name]) for name in learning.names(side)}


def _changed(part: Projection, axis: int, w: jax.Array, traces: Synapses, spikes: jax.Array) -> jax.Array:
    """Return the weights after on_pre (axis 0) or on_post (1), if there is one."""
    learning: Any = part.plasticity
    A: Any = part.A
    rule = (learning.on_pre, learning.on_post)[axis]
    if rule is None:
        return w
    variables = learning.taken(rule, traces)
    if axis == 0:
        return plasticity.on_pre(rule, w, A.indices, A.indptr, spikes, shape=A.shape, **variables)
    rows, indptr, permutation, _ = A.by_column
    return plasticity.on_post(rule, w, rows, indptr, permutation, spikes, shape=A.shape, **variables)

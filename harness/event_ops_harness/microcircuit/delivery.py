"""Spikes on their way, by delays.

Where synapses are stored, what is kept is who spiked in the last steps, a bit for each: in every step the
synapses whose delay is over are those of some rows, and all add to one vector. Where they are drawn anew that
would draw each row once for every delay: it is drawn when its neuron spikes, into a ring buffer of what
arrives in the next steps.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

import event_ops
from event_ops_harness.microcircuit.connectivity import Drawing
from event_ops_harness.microcircuit.procedural import deliver_generated
from event_ops_harness.microcircuit.rows import SLOTS

BITS = jnp.uint32


class Synapses(NamedTuple):
    data: jax.Array  # float32 (nse,), pA
    indices: jax.Array  # int32 (nse,)
    indptr: jax.Array  # int32 (sources * SLOTS + 1,), row i * SLOTS + d has the delay d


def empty_history(neurons: int, dtype: Any = BITS) -> jax.Array:
    """(SLOTS, ...): nobody has spiked yet; bits, or numbers through which derivatives go."""
    return jnp.zeros((SLOTS, -(-neurons // 32) if dtype == BITS else neurons), dtype)


def empty_buffer(neurons: int) -> jax.Array:
    """(SLOTS, neurons), float32: no current is on its way."""
    return jnp.zeros((SLOTS, neurons), jnp.float32)


def arriving(
    pending: jax.Array, synapses: Synapses | Drawing, t: jax.Array, targets: int, backend: str | None
) -> tuple[jax.Array, jax.Array]:
    """(targets,), pA, what arrives in step t; and what is pending then."""
    if isinstance(synapses, Drawing):
        return event_ops.read_slot(pending, t, backend=backend)
    shape = synapses.indptr.shape[0] // SLOTS, targets
    encoding = "bits" if pending.dtype == BITS else "flags"
    arrivals = event_ops.csr_event_arrivals(
        pending, *synapses, t, shape=shape, encoding=encoding, backend=backend
    )
    # Without this XLA sees no order between what reads the history here and what writes the step's spikes to
    # it: it would copy all of it first.
    return jax.lax.optimization_barrier((arrivals, pending))


def sent(
    pending: jax.Array, synapses: Synapses | Drawing, spikes: jax.Array, t: jax.Array, backend: str | None
) -> jax.Array:
    """What is pending with the spikes of step t."""
    if isinstance(synapses, Drawing):
        return deliver_generated(pending, synapses, spikes, t)
    bits = pending.dtype == BITS
    row = event_ops.pack_events(spikes, backend=backend) if bits else spikes.astype(pending.dtype)
    return jax.lax.dynamic_update_index_in_dim(pending, row, t % SLOTS, 0)

"""Spikes on their way, by delays.

Where synapses are stored, what is kept is who spiked in the last steps, as lists: in every step the synapses
whose delay is over are those of some rows, and all add to one vector. Where they are drawn anew that
would draw each row once for every delay: it is drawn when its neuron spikes, into a ring buffer of what
arrives in the next steps.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp

import event_ops
from event_ops_harness.networks.microcircuit.connectivity import Drawing
from event_ops_harness.networks.microcircuit.procedural import deliver_generated
from event_ops_harness.networks.microcircuit.rows import SLOTS


class Synapses(NamedTuple):
    data: jax.Array  # float32 (nse,), pA
    indices: jax.Array  # int32 (nse,)
    indptr: jax.Array  # int32 (sources * SLOTS + 1,), row i * SLOTS + d has the delay d


def no_spikes(neurons: int, capacity: int) -> jax.Array:
    """(SLOTS, capacity), int32: nobody has spiked yet; as `spike_compact` lists nobody."""
    return jnp.full((SLOTS, capacity), neurons, jnp.int32)


def empty_history(neurons: int) -> jax.Array:
    """(SLOTS, neurons), float32: the same as numbers, through which derivatives go."""
    return jnp.zeros((SLOTS, neurons), jnp.float32)


def empty_buffer(neurons: int) -> jax.Array:
    """(SLOTS, neurons), float32: no current is on its way."""
    return jnp.zeros((SLOTS, neurons), jnp.float32)


def arriving(
    I_syn: jax.Array, pending: jax.Array, synapses: Synapses | Drawing, t: jax.Array, backend: str | None
) -> tuple[jax.Array, jax.Array]:
    """(targets,), pA, the current with what arrives in step t; and what is pending then."""
    if isinstance(synapses, Drawing):
        arrivals, pending = event_ops.read_slot(pending, t, backend=backend)
        return I_syn + arrivals, pending
    shape = synapses.indptr.shape[0] // SLOTS, I_syn.size
    encoding = "ids" if pending.dtype == jnp.int32 else "flags"
    I_syn = event_ops.csr_event_arrivals(
        pending, *synapses, t, shape=shape, initial=I_syn, encoding=encoding, backend=backend
    )
    # Without this XLA sees no order between what reads the history here and what writes the step's spikes to
    # it: it would copy all of it first.
    return jax.lax.optimization_barrier((I_syn, pending))


def sent(
    pending: jax.Array, synapses: Synapses | Drawing, spikes: jax.Array, t: jax.Array, backend: str | None
) -> jax.Array:
    """What is pending with the spikes of step t."""
    if isinstance(synapses, Drawing):
        return deliver_generated(pending, synapses, spikes, t)
    if pending.dtype == jnp.int32:
        row, _ = event_ops.spike_compact(spikes, capacity=pending.shape[1], backend=backend)
    else:
        row = spikes.astype(pending.dtype)
    return jax.lax.dynamic_update_index_in_dim(pending, row, t % SLOTS, 0)

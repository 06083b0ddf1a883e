"""Spikes on their way: delays.

Where synapses are stored, the spikes of the last steps are kept as lists. In every step the synapses whose
delay is over are those of some rows, and all add to one vector. Where synapses are drawn anew, that would
draw each row once for every delay: instead a row is drawn when its neuron spikes, into a ring buffer of the
currents that arrive in the next steps.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp

import event_ops
from event_ops_harness.networks.microcircuit.connectivity import Drawing
from event_ops_harness.networks.microcircuit.procedural import deliver_generated
from event_ops_harness.networks.microcircuit.rows import SLOTS


class Synapses(NamedTuple):
    entries: jax.Array  # uint32 (nse,), a target and the code of a weight
    indptr: jax.Array  # int32 (parts, sources * SLOTS + 1), row i * SLOTS + d has the delay d
    scale: jax.Array  # float32 0-d, pA: the weight of the code 1


def no_spikes(neurons: int, capacity: int) -> jax.Array:
    """(SLOTS, capacity), int32: lists, as of `spike_compact`, in which nobody has spiked."""
    return jnp.full((SLOTS, capacity), neurons, jnp.int32)


def empty_history(neurons: int) -> jax.Array:
    """(SLOTS, neurons), float32: nobody has spiked; numbers, through which derivatives go."""
    return jnp.zeros((SLOTS, neurons), jnp.float32)


def empty_buffer(neurons: int) -> jax.Array:
    """(SLOTS, neurons), float32: no current is on its way."""
    return jnp.zeros((SLOTS, neurons), jnp.float32)


def delivered(
    I_syn: jax.Array,
    pending: jax.Array,
    synapses: Synapses | Drawing,
    spikes: jax.Array,
    t: jax.Array,
    backend: str | None,
) -> tuple[jax.Array, jax.Array]:
    """Add to I_syn, (targets,) in pA, what arrives in step t; return it, and what is pending with its spikes.

    No delay is 0, so that what arrives does not depend on the step's own spikes. They are written first all
    the same: XLA would copy a history that is read before it is written, all of it and in every step.
    """
    if isinstance(synapses, Drawing):
        arrivals, pending = event_ops.read_slot(pending, t, backend=backend)
        return I_syn + arrivals, deliver_generated(pending, synapses, spikes, t)
    listed = pending.dtype == jnp.int32
    row = _ids(spikes, pending.shape[1], backend) if listed else spikes.astype(pending.dtype)
    pending = jax.lax.dynamic_update_index_in_dim(pending, row, t % SLOTS, 0)
    shape = synapses.indptr.shape[1] // SLOTS, I_syn.size
    encoding = "ids" if listed else "flags"
    I_syn = event_ops.compact_event_arrivals(
        pending, *synapses, t, shape=shape, initial=I_syn, encoding=encoding, backend=backend
    )
    return I_syn, pending


def _ids(spikes: jax.Array, capacity: int, backend: str | None) -> jax.Array:
    return event_ops.spike_compact(spikes, capacity=capacity, backend=backend)[0]

"""Spikes on their way: delays.

Where synapses are stored, the spikes of the last steps are kept as lists. In every step the synapses whose
delay is over are those of some rows, and all add to one vector. Where synapses are drawn anew, that would
draw each row once for every delay: instead a row is drawn when its neuron spikes, into a ring buffer of the
currents that arrive in the next steps.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numba
import numpy as np
from numba import prange

import event_ops
from event_ops_harness.networks.microcircuit.connectivity import Drawing, Synapses
from event_ops_harness.networks.microcircuit.rows import SLOTS, draw_row, meets
from ffi_bridge import numba_kernel


def no_spikes(neurons: int, capacity: int) -> jax.Array:
    """(SLOTS, capacity), int32: lists, as of `spike_compact`, in which nobody has spiked."""
    return jnp.full((SLOTS, capacity), neurons, jnp.int32)


def nothing_pending(neurons: int) -> jax.Array:
    """(SLOTS, neurons), float32: no current is on its way, or no spike, where spikes have derivatives."""
    return jnp.zeros((SLOTS, neurons), jnp.float32)


def delivered(
    I_syn: jax.Array,
    pending: jax.Array,
    synapses: Synapses | Drawing,
    spikes: jax.Array,
    t: jax.Array,
    backend: str | None,
) -> tuple[jax.Array, jax.Array]:
    """Add the arrivals of step t to I_syn, (targets,) in pA; return it, and the pending ones with its spikes.

    No delay is 0, so that what arrives does not depend on the step's own spikes. They are written first all
    the same: XLA would copy a history that is read before it is written, all of it and in every step.
    """
    if isinstance(synapses, Drawing):
        arrivals, pending = event_ops.read_slot(pending, t, backend=backend)
        return I_syn + arrivals, deliver_generated(pending, synapses, spikes, t)
    listed = pending.dtype == jnp.int32
    if listed:
        row, _ = event_ops.spike_compact(spikes, capacity=pending.shape[1], backend=backend)
    else:
        row = spikes.astype(pending.dtype)
    pending = jax.lax.dynamic_update_index_in_dim(pending, row, t % SLOTS, 0)
    shape = synapses.indptr.shape[1] // SLOTS, I_syn.size
    how = {"shape": shape, "initial": I_syn, "encoding": "ids" if listed else "flags", "backend": backend}
    return event_ops.compact_event_arrivals(pending, *synapses, t, **how), pending


# Drawing takes nearly all the time. With fewer synapses a parallel launch costs more than it saves.
MIN_PARALLEL = 1 << 10


@numba.njit
def places_of(degrees: Any, rows: Any, bounds: Any, low: Any, high: Any) -> Any:
    """Return where the synapses of each row begin, with room for its synapses onto all populations."""
    places = np.zeros(rows.size + 1, np.int64)
    for i in range(rows.size):
        places[i + 1] = places[i]
        for p in range(bounds.size - 1):
            if meets(bounds, p, low, high):
                places[i + 1] += degrees[rows[i], p]
    return places


# buffer and y are the same memory. Threads draw; one adds up, in the order of the rows, so that the bits are
# those of one thread.
@numba.njit(parallel=True)
def deliver_rows(
    buffer: Any, key: Any, degrees: Any, populations: Any, bounds: Any, weights: Any, tables: Any, first: Any,
    scale: Any, spikes: Any, slot: Any, y: Any,
) -> None:  # fmt: skip
    slots, now, word = np.int64(y.shape[0]), np.int64(slot[()]), np.uint64(key[()])
    low = np.int64(first[()])
    high = low + y.shape[1]
    drawing = degrees, populations, bounds, weights, tables
    rows = np.flatnonzero(spikes)
    places = places_of(degrees, rows, bounds, low, high)
    room, counts = places[rows.size], np.empty(rows.size, np.int64)
    targets, steps = np.empty(room, np.int32), np.empty(room, np.uint8)
    codes = np.empty(room, np.int16)
    if room < MIN_PARALLEL:
        for i in range(rows.size):
            begin, end = places[i], places[i + 1]
            places_of_row = targets[begin:end], steps[begin:end], codes[begin:end]
            counts[i] = draw_row(word, rows[i], drawing, low, high, *places_of_row)
    else:
        for i in prange(rows.size):
            begin, end = places[i], places[i + 1]
            places_of_row = targets[begin:end], steps[begin:end], codes[begin:end]
            counts[i] = draw_row(word, rows[i], drawing, low, high, *places_of_row)
    for i in range(rows.size):
        for e in range(places[i], places[i] + counts[i]):
            y[(now + steps[e]) % slots, targets[e]] += np.float32(codes[e]) * scale[()]


def deliver_generated(buffer: jax.Array, drawn: Drawing, spikes: jax.Array, slot: jax.Array) -> jax.Array:
    """Deliver as `csr_event_deliver` does, but draw the rows anew, each with all its delays.

    buffer is (SLOTS, targets), for the targets from `drawn.first` on.
    """
    outs = jax.ShapeDtypeStruct(buffer.shape, buffer.dtype)
    return numba_kernel(deliver_rows, outs, input_output_aliases={0: 0})(buffer, *drawn, spikes, slot)

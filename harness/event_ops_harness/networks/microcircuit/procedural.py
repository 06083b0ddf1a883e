"""The same network without its synapses: a neuron's row is drawn anew whenever it spikes.

The rows are those of `connectivity.py`, for they are functions of seed and neuron; what is kept is how many
synapses each neuron has onto each population. A synapse costs about ten times what a stored one does.
"""

from typing import Any

import jax
import numba
import numpy as np
from numba import prange

from event_ops_harness.networks.microcircuit.connectivity import Drawing
from event_ops_harness.networks.microcircuit.rows import draw_row, meets
from ffi_bridge import numba_kernel

# Drawing takes nearly all the time. With fewer synapses a parallel launch costs more than it saves.
MIN_PARALLEL = 1 << 10


@numba.njit
def places_of(degrees: Any, rows: Any, starts: Any, sizes: Any, low: Any, high: Any) -> Any:
    """Return where the synapses of each row begin, with room for those onto all its target populations."""
    places = np.zeros(rows.size + 1, np.int64)
    for i in range(rows.size):
        places[i + 1] = places[i]
        for p in range(starts.size):
            if meets(starts[p], sizes[p], low, high):
                places[i + 1] += degrees[rows[i], p]
    return places


# buffer and y are the same memory. Threads draw; one adds up, in the order of the rows, so that the bits are
# those of one thread.
@numba.njit(parallel=True)
def deliver_rows(
    buffer: Any, key: Any, degrees: Any, populations: Any, starts: Any, sizes: Any, means: Any, sds: Any,
    tables: Any, first: Any, scale: Any, spikes: Any, slot: Any, y: Any,
) -> None:  # fmt: skip
    slots, now, word = np.int64(y.shape[0]), np.int64(slot[()]), np.uint64(key[()])
    low = np.int64(first[()])
    high = low + y.shape[1]
    rows = np.flatnonzero(spikes)
    places = places_of(degrees, rows, starts, sizes, low, high)
    room, kept = places[rows.size], np.empty(rows.size, np.int64)
    targets, steps = np.empty(room, np.int32), np.empty(room, np.uint8)
    codes = np.empty(room, np.int16)
    if room < MIN_PARALLEL:
        for i in range(rows.size):
            begin, end = places[i], places[i + 1]
            kept[i] = draw_row(
                word, rows[i], degrees, populations, starts, sizes, means, sds, tables, low, high,
                targets[begin:end], steps[begin:end], codes[begin:end],
            )  # fmt: skip
    else:
        for i in prange(rows.size):
            begin, end = places[i], places[i + 1]
            kept[i] = draw_row(
                word, rows[i], degrees, populations, starts, sizes, means, sds, tables, low, high,
                targets[begin:end], steps[begin:end], codes[begin:end],
            )  # fmt: skip
    for i in range(rows.size):
        for e in range(places[i], places[i] + kept[i]):
            y[(now + steps[e]) % slots, targets[e]] += np.float32(codes[e]) * scale[()]


def deliver_generated(buffer: jax.Array, drawn: Drawing, spikes: jax.Array, slot: jax.Array) -> jax.Array:
    """Deliver as `csr_event_deliver` does, but draw the rows anew, each with all its delays.

    buffer is (SLOTS, targets), for the targets from `drawn.first` on.
    """
    outs = jax.ShapeDtypeStruct(buffer.shape, buffer.dtype)
    return numba_kernel(deliver_rows, outs, input_output_aliases={0: 0})(buffer, *drawn, spikes, slot)

"""The same network without its synapses: a neuron's row is drawn anew whenever it spikes.

The rows are those of `connectivity.py`, for they are functions of seed and neuron; what is kept is how many
synapses each neuron has onto each population. A synapse costs about ten times what a stored one does.
"""

from typing import Any

import jax
import numba
import numpy as np
from numba import prange

from event_ops_harness.microcircuit.connectivity import Drawing
from event_ops_harness.microcircuit.rows import draw_ends, draw_weights
from ffi_bridge import numba_kernel

# Drawing takes nearly all the time. With fewer synapses a parallel launch costs more than it saves.
MIN_PARALLEL = 1 << 10


@numba.njit
def ends_of(degrees: Any, rows: Any) -> Any:
    """How many synapses the first 0, 1, 2, ... of the rows have together."""
    ends = np.zeros(rows.size + 1, np.int64)
    for i in range(rows.size):
        ends[i + 1] = ends[i] + degrees[rows[i]].sum()
    return ends


@numba.njit
def draw_row(
    i: Any, rows: Any, ends: Any, word: Any, degrees: Any, populations: Any, starts: Any, sizes: Any,
    means: Any, sds: Any, tables: Any, targets: Any, steps: Any, weights: Any,
) -> None:  # fmt: skip
    """The synapses of one of the rows, each into its place."""
    row, low, high = rows[i], ends[i], ends[i + 1]
    own, source = degrees[row], populations[row]
    draw_ends(word, row, own, starts, sizes, tables[source], targets[low:high], steps[low:high])
    draw_weights(word, row, own, means[source], sds[source], weights[low:high])


# buffer and y are the same memory. Threads draw; one adds up, in the order of the rows, so that the bits are
# those of one thread.
@numba.njit(parallel=True)
def deliver_rows(
    buffer: Any, key: Any, degrees: Any, populations: Any, starts: Any, sizes: Any, means: Any, sds: Any,
    tables: Any, spikes: Any, slot: Any, y: Any,
) -> None:  # fmt: skip
    slots, now, word = np.int64(y.shape[0]), np.int64(slot[()]), np.uint64(key[()])
    rows = np.flatnonzero(spikes)
    ends = ends_of(degrees, rows)
    total = ends[rows.size]
    targets, steps = np.empty(total, np.int32), np.empty(total, np.uint8)
    weights = np.empty(total, np.float32)
    if total < MIN_PARALLEL:
        for i in range(rows.size):
            draw_row(
                i, rows, ends, word, degrees, populations, starts, sizes,
                means, sds, tables, targets, steps, weights,
            )  # fmt: skip
    else:
        for i in prange(rows.size):
            draw_row(
                i, rows, ends, word, degrees, populations, starts, sizes,
                means, sds, tables, targets, steps, weights,
            )  # fmt: skip
    for e in range(total):
        y[(now + steps[e]) % slots, targets[e]] += weights[e]


def deliver_generated(buffer: jax.Array, drawn: Drawing, spikes: jax.Array, slot: jax.Array) -> jax.Array:
    """`csr_event_deliver` for rows that are drawn anew, each with all its delays."""
    outs = jax.ShapeDtypeStruct(buffer.shape, buffer.dtype)
    return numba_kernel(deliver_rows, outs, input_output_aliases={0: 0})(buffer, *drawn, spikes, slot)

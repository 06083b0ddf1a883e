"""The same network without its synapses: a neuron's row is drawn anew whenever it spikes.

The rows are those of `connectivity.py`, for they are functions of seed and neuron; what is kept is how many
synapses each neuron has onto each population. A synapse costs about ten times what a stored one does.
"""

from typing import Any

import jax
import numba
import numpy as np

from event_ops_harness.microcircuit.connectivity import Drawing
from event_ops_harness.microcircuit.rows import draw_ends, draw_weights
from ffi_bridge import numba_kernel


# buffer and y are the same memory.
@numba.njit
def deliver_rows(
    buffer: Any, key: Any, degrees: Any, populations: Any, starts: Any, sizes: Any, means: Any, sds: Any,
    tables: Any, spikes: Any, slot: Any, y: Any,
) -> None:  # fmt: skip
    slots, now, word = np.int64(y.shape[0]), np.int64(slot[()]), np.uint64(key[()])
    for row in range(spikes.size):
        if spikes[row]:
            total, source = degrees[row].sum(), populations[row]
            targets, steps = np.empty(total, np.int32), np.empty(total, np.uint8)
            weights = np.empty(total, np.float32)
            draw_ends(word, row, degrees[row], starts, sizes, tables[source], targets, steps)
            draw_weights(word, row, degrees[row], means[source], sds[source], weights)
            for e in range(total):
                y[(now + steps[e]) % slots, targets[e]] += weights[e]


def deliver_generated(buffer: jax.Array, drawn: Drawing, spikes: jax.Array, slot: jax.Array) -> jax.Array:
    """`csr_event_deliver` for rows that are drawn anew."""
    outs = jax.ShapeDtypeStruct(buffer.shape, buffer.dtype)
    return numba_kernel(deliver_rows, outs, input_output_aliases={0: 0})(buffer, *drawn, spikes, slot)

"""Loops of a plastic projection on the CPU, over a share of the neurons that receive.

A share changes the synapses onto its own neurons, so that it reads its own postsynaptic traces, and those of
all neurons that send: of these each share has a copy, as a wait for another share would take longer.
"""

from typing import Any

import numpy as np

from event_ops.kernels.numba_cpu.jit import INLINED, njit
from event_ops.network.loops import add_entries, make_deliver


@njit(**INLINED)
def decay_traces(traces: Any, decays: Any, low: Any, high: Any) -> None:
    """traces[k, i] *= decays[k], in a range of the neurons."""
    for k in range(np.uintp(traces.shape[0])):
        trace, decay = traces[k], decays[k]
        for i in range(np.uintp(low), np.uintp(high)):
            trace[i] *= decay


@njit(**INLINED)
def raise_traces(traces: Any, ids: Any) -> None:
    """traces[k, i] += 1 for the neurons `ids`."""
    for k in range(np.uintp(traces.shape[0])):
        for position in range(np.uintp(ids.size)):
            i = np.uintp(ids[position])
            traces[k, i] += type(traces[k, i])(1)


@njit
def own_spikes(sent: Any, time: Any, age: Any, newest: Any, share: Any) -> Any:
    """Return who spiked `age` steps before `time` in the range of a share.

    `newest`: the age whose spikes are still in the lists of shares.
    """
    if age == newest:
        row, begin = (np.uintp(time) - newest) % np.uintp(2), np.uintp(sent.bounds[share])
        return sent.parts[row, begin : begin + sent.lengths[row, share, 0]]
    slots = np.uintp(sent.counts.size)
    slot = (np.uintp(time) + slots - age) % slots
    ids = sent.lists[slot, : sent.counts[slot]]
    low, high = place_of(ids, sent.bounds[share]), place_of(ids, sent.bounds[share + 1])
    return ids[low:high]


@njit(**INLINED)
def place_of(ids: Any, bound: Any) -> Any:
    """Return how many of ascending ids are below a bound."""
    low, high = np.uintp(0), np.uintp(ids.size)
    while low < high:
        middle = (low + high) // np.uintp(2)
        if np.int64(ids[middle]) < bound:
            low = middle + np.uintp(1)
        else:
            high = middle
    return low


def make_learn(visit_rows: Any) -> Any:
    """Return the function of the spikes that arrive: on_pre, weights added to y, and traces."""

    @njit
    def learn(matrix: Any, lists: Any, rows: Any, each: Any, y: Any, low: Any, high: Any) -> None:
        weights, indices, indptr, variables, traces = matrix
        columns = np.uintp(low), np.uintp(high) - np.uintp(low)
        visit_rows((weights,), indices, indptr, None, columns, variables, rows)
        add_entries((weights, indices, indptr), lists, rows, each, y, low, high)
        raise_traces(traces, rows)

    return make_deliver(learn)


@njit
def keep(
    synapses: Any, indices: Any, indptr: Any, places: Any, columns: Any, variables: Any, ids: Any
) -> None:
    """Visit no synapse, where there is no rule."""

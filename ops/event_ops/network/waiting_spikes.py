"""Postsynaptic spikes of a projection on the CPU that wait: how they are kept, and which neuron has some."""

from typing import Any, Final, NamedTuple

import numpy as np

from event_ops.kernels.numba_cpu.jit import INLINED, njit

# Keeping spikes costs a pass over all synapses at the end, 1 ns an entry; a change at once takes some 10 ns
# longer than one that waited: in hpc_benchmark, 81 million synapses that learn, on one thread.
_ENTRIES_A_CHANGE: Final = 8
KEPT, FOUND, IS_ON = 0, 1, 2  # places in `counts`
STEP, BEFORE, NEXT = 0, 1, 2  # rows of `spikes`
OFFSET, WHEN, SEVERAL, KEPT_AT, LAST = range(5)  # rows of `lists`


class Deferred(NamedTuple):
    """Hold the spikes that wait, of each share, and how far each row is."""

    traces: Any  # (shares, traces, senders), presynaptic, of the step up to which a row is up to date
    steps: Any  # int64 (shares, senders), this step
    newest: Any  # int32 (receivers, 2): the steps of the last kept spikes of a neuron, or -1
    last: Any  # int32 (receivers,): the last kept spike of a neuron, or -1
    spikes: Any  # int32 (shares, 3, room): the step of each, and the spikes of its neuron before it and next
    values: Any  # (shares, traces, room), postsynaptic
    counts: Any  # int64 (shares, a line of the cache): kept spikes, spikes of the run, whether they are kept
    past: Any  # (shares, traces, steps + 1), presynaptic, since a row was up to date
    block: Any  # (shares, inputs of on_post * ROOM)
    lists: Any  # int32 (shares, 5, ROOM): of synapses to change, see `deferred_loops`


@njit(**INLINED)
def defers(waiting: Any, share: Any, found: Any, step: Any, steps: Any, neurons: Any) -> Any:
    """Return whether `found` spikes are to wait: once enough are expected to pay for the pass at the end.

    neurons: how many receive in this share.
    """
    counts = waiting.counts[share]
    counts[FOUND] += found
    expected, needed = counts[FOUND] * (steps - step), neurons // _ENTRIES_A_CHANGE * (step + 1)
    if counts[IS_ON] == 0 and expected > needed:
        counts[IS_ON], waiting.steps[share, :] = 1, step - 1
    return counts[IS_ON] > 0


@njit(**INLINED)
def has_room(waiting: Any, share: Any, found: Any) -> Any:
    """Return whether there is room for `found` more spikes."""
    return waiting.counts[share, KEPT] + found <= waiting.spikes.shape[2]


@njit(**INLINED)
def is_deferring(waiting: Any, share: Any) -> Any:
    """Return whether rows may be behind."""
    return waiting.counts[share, IS_ON] > 0


@njit(**INLINED)
def keep_trace(waiting: Any, share: Any, k: Any, trace: Any, ids: Any) -> None:
    """Keep a postsynaptic trace of the spikes that `keep_spikes` is to keep next."""
    first = np.uintp(waiting.counts[share, KEPT])
    for position in range(np.uintp(ids.size)):
        waiting.values[share, k, first + position] = trace[np.uintp(ids[position])]


@njit(**INLINED)
def keep_spikes(waiting: Any, share: Any, step: Any, ids: Any) -> None:
    """Keep the spikes that come back in a step."""
    spikes, newest, last = waiting.spikes[share], waiting.newest, waiting.last
    first = np.uintp(waiting.counts[share, KEPT])
    for position in range(np.uintp(ids.size)):
        j, place = np.uintp(ids[position]), first + position
        before = last[j]
        spikes[STEP, place], spikes[BEFORE, place] = step, before
        if before >= 0:
            spikes[NEXT, np.uintp(before)] = place
        newest[j, 0], newest[j, 1], last[j] = step, newest[j, 0], place
    waiting.counts[share, KEPT] += ids.size


@njit(**INLINED)
def past_traces(waiting: Any, share: Any, i: Any, decays: Any, step: Any) -> None:
    """Compute the traces of a neuron in all steps from that of its row up to `step`."""
    begin = waiting.steps[share, i]
    for k in range(np.uintp(decays.size)):
        past, x = waiting.past[share, k], waiting.traces[share, k, i]
        past[0] = x
        for back in range(np.uintp(1), np.uintp(step - begin + 1)):
            x *= decays[k]
            past[back] = x
        waiting.traces[share, k, i] = x


@njit(**INLINED)
def oldest(spikes: Any, last: Any, least: Any) -> Any:
    """Return the first kept spike of a neuron in a step >= least, from its last one, which is in such a step."""
    before = spikes[BEFORE, np.uintp(last)]
    while before >= 0 and spikes[STEP, np.uintp(before)] >= least:
        last, before = before, spikes[BEFORE, np.uintp(before)]
    return last

"""Postsynaptic spikes of a projection on the CPU that wait: how they are kept, and which neuron has some."""

from typing import Any, Final, NamedTuple

import numpy as np

from event_ops.kernels.numba_cpu.jit import INLINED, njit

# Keeping spikes costs a pass over all synapses at the end, 1 ns an entry; a change at once takes some 10 ns
# longer than one that waited: in hpc_benchmark, 81 million synapses that learn, on one thread.
_ENTRIES_A_CHANGE: Final = 8
FOUND, STATE = 0, 1  # places in `counts`
_OFF, _ON, _NEVER_AGAIN = range(3)  # states
# Rows of `lists`. `list_reaching` fills three: places of synapses with one spike, its steps, and places of
# synapses with several. Then, among the spikes of a neuron that wait, the one to apply, and the last.
AT, WHEN, SEVERAL, POSITION, LAST = range(5)
NEVER: Final = -2  # before any step up to which a row may be up to date
KEPT: Final = np.uintp(16)  # spikes of a neuron, whose steps fill a line of the cache


class Deferred(NamedTuple):
    """Hold the spikes that wait, of each share, and how far each row is."""

    traces: Any  # (shares, traces, senders), presynaptic, in the step up to which a row is up to date
    steps: Any  # int64 (shares, senders): the step up to which a row is up to date
    newest: Any  # int32 (receivers, 2): the steps of the last two spikes of a neuron that wait, or NEVER
    kept: Any  # int32 (receivers,): how many wait
    spikes: Any  # int32 (receivers * KEPT,): their steps
    values: Any  # (traces, receivers * KEPT), postsynaptic, in these steps
    counts: Any  # int64 (shares, a line of the cache): spikes of the run, and the state, whether they wait
    past: Any  # (shares, traces, steps + 1), presynaptic, since a row was up to date
    block: Any  # (shares, inputs of on_post * ROOM)
    lists: Any  # int32 (shares, 5, ROOM): of synapses to change


@njit(**INLINED)
def defers(waiting: Any, share: Any, found: Any, step: Any, steps: Any, neurons: Any) -> Any:
    """Return whether `found` spikes are to wait: once enough are expected to pay for the pass at the end.

    neurons: how many receive in this share.
    """
    counts = waiting.counts[share]
    counts[FOUND] += found
    expected, needed = counts[FOUND] * (steps - step), neurons // _ENTRIES_A_CHANGE * (step + 1)
    if counts[STATE] == _OFF and expected > needed:
        counts[STATE], waiting.steps[share, :] = _ON, step - 1
    return counts[STATE] == _ON


@njit(**INLINED)
def has_room(waiting: Any, ids: Any) -> Any:
    """Return whether there is room for one more spike of each of these neurons."""
    most = np.uintp(0)
    for position in range(np.uintp(ids.size)):
        most = max(most, np.uintp(waiting.kept[np.uintp(ids[position])]))
    return most < KEPT


@njit(**INLINED)
def is_deferring(waiting: Any, share: Any) -> Any:
    """Return whether rows may be behind."""
    return waiting.counts[share, STATE] == _ON


@njit(**INLINED)
def keep_trace(waiting: Any, k: Any, trace: Any, ids: Any) -> None:
    """Keep a postsynaptic trace of the spikes that `keep_spikes` is to keep next."""
    for position in range(np.uintp(ids.size)):
        j = np.uintp(ids[position])
        waiting.values[k, j * KEPT + np.uintp(waiting.kept[j])] = trace[j]


@njit(**INLINED)
def keep_spikes(waiting: Any, step: Any, ids: Any) -> None:
    """Keep the spikes that come back in a step."""
    newest, kept = waiting.newest, waiting.kept
    for position in range(np.uintp(ids.size)):
        j = np.uintp(ids[position])
        waiting.spikes[j * KEPT + np.uintp(kept[j])] = step
        newest[j, 0], newest[j, 1] = step, newest[j, 0]
        kept[j] += np.int32(1)


@njit(**INLINED)
def forget_spikes(waiting: Any, share: Any, low: Any, high: Any) -> None:
    """Forget the spikes of a range of neurons, all of which were applied.

    Where they were too few to pay for that, as of one neuron that has most, none waits from here on.
    """
    waited = 0
    for j in range(np.uintp(low), np.uintp(high)):
        waited += waiting.kept[j]
    if waited * _ENTRIES_A_CHANGE < high - low:
        waiting.counts[share, STATE] = _NEVER_AGAIN
    waiting.newest[low:high], waiting.kept[low:high] = NEVER, 0


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
def oldest(spikes: Any, j: Any, last: Any, least: Any) -> Any:
    """Return the position of the first spike of a neuron in a step >= least, of which `last` is one."""
    position = np.uintp(last)
    while position > 0 and spikes[j * KEPT + position - np.uintp(1)] >= least:
        position -= np.uintp(1)
    return position

"""Postsynaptic spikes of a projection on the CPU that wait until their synapses are read anyway.

on_post changes a column of a matrix, whose weights lie in as many places as there are synapses. So a share
keeps the spikes that come back, with the traces that on_post reads of them, and applies them to a whole row:
when a spike arrives there, or at the end. Presynaptic traces are computed for all steps since the row was
last up to date, as its neuron was silent in these; so the bits are those of changes made at once.

Source: the history of postsynaptic spikes in Morrison, Aertsen and Diesmann (2007), Neural Comput. 19,
1437-1467.
"""

from typing import Any, Final, NamedTuple

import numpy as np

from event_ops.kernels.numba_cpu.access import row_span
from event_ops.kernels.numba_cpu.jit import INLINED, njit
from event_ops.kernels.numba_cpu.packed_events import FLAGS as WORD
from event_ops.kernels.numba_cpu.packed_events import trailing_zeros
from event_ops.kernels.numba_cpu.prefetch import prefetch_row
from event_ops.kernels.numba_cpu.ranges import ALL, EVERY_BIT, WIDTH, inside, reaching
from event_ops.network.learning_loops import raise_traces
from event_ops.network.loops import add_entries, make_deliver

ROOM: Final = np.uintp(256)  # synapses that are changed side by side
WORDS: Final = np.uintp(64)  # of 64 synapses, which are marked before they are changed
# Keeping spikes costs a pass over all synapses at the end, and a spike that is not kept as much as so many
# entries of that pass for each synapse: measured with 81 million of them, of hpc_benchmark.
_ENTRIES_A_CHANGE: Final = 16
_KEPT, _FOUND, _IS_ON = 0, 1, 2  # places in `counts`
_STEP, _BEFORE, _NEXT = 0, 1, 2  # rows of `spikes`


class Deferred(NamedTuple):
    """Hold the spikes that wait, of each share, and how far each row is."""

    traces: Any  # (shares, traces, senders), presynaptic, of the step up to which a row is up to date
    steps: Any  # int64 (shares, senders), this step
    seen: Any  # int64 (shares, senders): how many kept spikes have been applied to a row
    newest: Any  # int32 (receivers, 2): the last kept spike of a neuron, and the one before it, or -1
    spikes: Any  # int32 (shares, 3, room): the step of each, and the spikes of its neuron before it and next
    values: Any  # (shares, traces, room), postsynaptic
    counts: Any  # int64 (shares, 8): spikes that are kept, spikes of the run, and whether spikes are kept
    past: Any  # (shares, traces, steps + 1), presynaptic, since a row was up to date
    block: Any  # (shares, inputs of on_post * ROOM)
    places: Any  # uintp (shares, 5, ROOM), of synapses and kept spikes
    words: Any  # uint64 (shares, 2, WORDS), bits of synapses that are to change, and of those by several spikes


@njit(**INLINED)
def defers(waiting: Any, share: Any, found: Any, step: Any, steps: Any, neurons: Any) -> Any:
    """Return whether `found` spikes are to wait: from when as many more are expected as make that worthwhile.

    neurons: how many receive in this share.
    """
    counts = waiting.counts[share]
    counts[_FOUND] += found
    expected, needed = counts[_FOUND] * (steps - step), neurons // _ENTRIES_A_CHANGE * (step + 1)
    if counts[_IS_ON] == 0 and expected > needed:
        counts[_IS_ON], waiting.steps[share, :] = 1, step - 1
    return counts[_IS_ON] > 0


@njit(**INLINED)
def has_room(waiting: Any, share: Any, found: Any) -> Any:
    """Return whether so many spikes more can be kept."""
    return waiting.counts[share, _KEPT] + found <= waiting.spikes.shape[2]


@njit(**INLINED)
def is_deferring(waiting: Any, share: Any) -> Any:
    """Return whether rows may be behind."""
    return waiting.counts[share, _IS_ON] > 0


@njit(**INLINED)
def keep_trace(waiting: Any, share: Any, k: Any, trace: Any, ids: Any) -> None:
    """Keep a postsynaptic trace of the spikes that `keep_spikes` is to keep next."""
    first = np.uintp(waiting.counts[share, _KEPT])
    for position in range(np.uintp(ids.size)):
        waiting.values[share, k, first + position] = trace[np.uintp(ids[position])]


@njit(**INLINED)
def keep_spikes(waiting: Any, share: Any, step: Any, ids: Any) -> None:
    """Keep the spikes that come back in a step."""
    spikes, newest = waiting.spikes[share], waiting.newest
    first = np.uintp(waiting.counts[share, _KEPT])
    for position in range(np.uintp(ids.size)):
        j, place = np.uintp(ids[position]), first + position
        before = newest[j, 0]
        spikes[_STEP, place], spikes[_BEFORE, place] = step, before
        if before >= 0:
            spikes[_NEXT, np.uintp(before)] = place
        newest[j, 0], newest[j, 1] = place, before
    waiting.counts[share, _KEPT] += ids.size


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
def oldest(before: Any, last: Any, seen: Any) -> Any:
    """Return the first kept spike of a neuron that is none of the first `seen` of all, from its last one."""
    while before[np.uintp(last)] >= seen:
        last = before[np.uintp(last)]
    return last


@njit(_nrt=False)
def mark(newest: Any, indices: Any, begin: Any, end: Any, seen: Any, low: Any, columns: Any, words: Any) -> None:
    """Set bit p - begin of words[0] for each entry p whose neuron has a spike that is none of the first `seen`.

    And of words[1] if it has several.
    """
    for word in range((end - begin + WORD - np.uintp(1)) // WORD):
        some, several, first = np.uint64(0), np.uint64(0), begin + word * WORD
        k, until = first, min(first + WORD, end)
        while k + np.uintp(WIDTH) <= until:
            within = inside(indices, k, EVERY_BIT, low, columns)
            if within == ALL:
                both, shift = reaching(newest, indices, k, seen), np.uint64(k - first)
                some |= np.uint64(both & np.uint16(ALL)) << shift
                several |= np.uint64(both >> np.uint16(WIDTH)) << shift
            elif within:
                for p in range(k, k + np.uintp(WIDTH)):
                    one, two = marks_of(newest, indices, p, seen, low, columns)
                    some, several = some | one << np.uint64(p - first), several | two << np.uint64(p - first)
            k += np.uintp(WIDTH)
        for p in range(k, until):
            one, two = marks_of(newest, indices, p, seen, low, columns)
            some, several = some | one << np.uint64(p - first), several | two << np.uint64(p - first)
        words[0, word], words[1, word] = some, several


@njit(_nrt=False)
def marks_of(newest: Any, indices: Any, p: Any, seen: Any, low: Any, columns: Any) -> Any:
    """Return the two bits of entry p."""
    j = np.uintp(indices[p])
    if j - low < columns:
        return np.uint64(newest[j, 0] >= seen), np.uint64(newest[j, 1] >= seen)
    return np.uint64(0), np.uint64(0)


def make_update_row(load: Any, change: Any, store: Any) -> Any:
    """Return the function that applies the spikes that wait to the synapses of a row in a share."""

    @njit(_nrt=False)
    def apply(work: Any, i: Any, begin_step: Any, places: Any, kept: Any, count: Any) -> None:
        (weights, indices, _), variables, _, waiting, share = work
        steps, values, past = waiting.spikes[share, _STEP], waiting.values[share], waiting.past[share]
        block, synapses = waiting.block[share], (weights,)
        for q in range(count):
            place, k = kept[q], places[q]
            back = np.uintp(steps[place] - begin_step)
            load(q, k, i, np.uintp(indices[k]), place, back, past, values, synapses, variables, block)
        for q in range(count):
            change(q, i, variables, block)
        for q in range(count):
            store(q, places[q], synapses, block)

    @njit(_nrt=False)
    def update_marked(work: Any, i: Any, begin: Any, words: Any, seen: Any, begin_step: Any) -> None:
        """Change the synapses that are marked in words[0], and in words[1] if by several spikes."""
        indices, waiting, share = work[0][1], work[3], work[4]
        before, following = waiting.spikes[share, _BEFORE], waiting.spikes[share, _NEXT]
        newest, (once, kept) = waiting.newest, (waiting.places[share, 0], waiting.places[share, 1])
        again, nexts, lasts = waiting.places[share, 2], waiting.places[share, 3], waiting.places[share, 4]
        count, more = np.uintp(0), np.uintp(0)
        for word in range(np.uintp(words.shape[1])):
            several = words[1, word]
            bits, first = words[0, word] & ~several, begin + np.uintp(word) * WORD
            while bits:
                k = first + trailing_zeros(bits)
                bits &= bits - np.uint64(1)
                once[count], kept[count] = k, np.uintp(newest[np.uintp(indices[k]), 0])
                count += np.uintp(1)
            while several:
                k = first + trailing_zeros(several)
                several &= several - np.uint64(1)
                last = newest[np.uintp(indices[k]), 0]
                again[more], nexts[more] = k, np.uintp(oldest(before, last, seen))
                lasts[more] = np.uintp(last)
                more += np.uintp(1)
            if count + more + WORD > ROOM or word + 1 == words.shape[1]:
                apply(work, i, begin_step, once, kept, count)
                count = np.uintp(0)
                # Spikes of one neuron change a synapse in their order.
                while more:
                    apply(work, i, begin_step, again, nexts, more)
                    left = np.uintp(0)
                    for q in range(more):
                        place = nexts[q]
                        again[left], lasts[left] = again[q], lasts[q]
                        nexts[left] = np.uintp(following[place])
                        left += np.uintp(place != lasts[left])
                    more = left

    @njit(_nrt=False)
    def update_row(work: Any, i: Any, step: Any, low: Any, high: Any) -> None:
        (_, indices, indptr), _, decays, waiting, share = work
        past_traces(waiting, share, i, decays, step)
        seen, begin_step, newest = waiting.seen[share, i], waiting.steps[share, i], waiting.newest
        waiting.steps[share, i], waiting.seen[share, i] = step, waiting.counts[share, _KEPT]
        if seen == waiting.counts[share, _KEPT]:
            return
        begin, end = row_span(indptr, i, np.uintp(indices.size))
        first, columns = np.uintp(low), np.uintp(high) - np.uintp(low)
        for p in range(begin, end, WORDS * WORD):
            until = min(p + WORDS * WORD, end)
            words = waiting.words[share, :, : (until - p + WORD - np.uintp(1)) // WORD]
            mark(newest, indices, p, until, seen, first, columns, words)
            update_marked(work, i, p, words, seen, begin_step)

    return update_row


def make_update_all(update_row: Any) -> Any:
    """Return the function that brings all rows of a share up to date, so that no spike waits."""

    @njit
    def update_all(work: Any, step: Any, low: Any, high: Any) -> None:
        waiting, share = work[3], work[4]
        for i in range(np.uintp(waiting.steps.shape[1])):
            update_row(work, i, step, low, high)
        waiting.newest[low:high] = -1
        waiting.seen[share, :] = 0
        waiting.counts[share, _KEPT] = 0

    return update_all


def make_learn(update_row: Any, visit_rows: Any) -> Any:
    """Return the function of the spikes that arrive, row by row.

    First what waits, then on_pre, then the weights are added to y, and traces rise.
    """

    @njit
    def learn(matrix: Any, lists: Any, rows: Any, each: Any, y: Any, low: Any, high: Any) -> None:
        work, variables, step = matrix
        weights, indices, indptr = work[0]
        waiting, share = work[3], work[4]
        columns = np.uintp(low), np.uintp(high) - np.uintp(low)
        for position in range(np.uintp(rows.size)):
            prefetch_row(weights, indices, indptr, rows, position + np.uintp(1))
            row = rows[position : position + np.uintp(1)]
            update_row(work, np.uintp(rows[position]), step, low, high)
            visit_rows((weights,), indices, indptr, None, columns, variables, row)
            add_entries((weights, indices, indptr), lists, row, each, y, low, high)
            raise_traces(waiting.traces[share], row)

    return make_deliver(learn)

"""Postsynaptic spikes of a projection on the CPU that wait until their synapses are read anyway.

on_post changes a column of a matrix, whose weights lie in as many places as there are synapses. So a share
keeps the spikes that come back, with the traces that on_post reads of them, and applies them to a whole row:
when a spike arrives there, or at the end. Presynaptic traces are computed for all steps since the row was
last up to date, as its neuron was silent in these; so the bits are those of changes made at once.

Source: the history of postsynaptic spikes in Morrison, Aertsen and Diesmann (2007), Neural Comput. 19,
1437-1467.
"""

from typing import Any, Final

import numpy as np

from event_ops.kernels.numba_cpu.access import row_span
from event_ops.kernels.numba_cpu.jit import njit
from event_ops.kernels.numba_cpu.packed_events import FLAGS as WORD
from event_ops.kernels.numba_cpu.packed_events import trailing_zeros
from event_ops.kernels.numba_cpu.prefetch import prefetch_row
from event_ops.kernels.numba_cpu.ranges import ALL, EVERY_BIT, WIDTH, inside, reaching
from event_ops.network.learning_loops import raise_traces
from event_ops.network.loops import add_entries, make_deliver
from event_ops.network.waiting_spikes import BEFORE, KEPT, NEXT, STEP, oldest, past_traces

ROOM: Final = np.uintp(256)  # synapses that are changed side by side
WORDS: Final = np.uintp(64)  # of 64 synapses, which are marked before they are changed


@njit(_nrt=False)
def mark(
    newest: Any, indices: Any, begin: Any, end: Any, seen: Any, low: Any, columns: Any, words: Any
) -> None:
    """Set bit p - begin of words[0] for each entry p whose neuron has a spike behind the first `seen` of all.

    And of words[1] if it has several.
    """
    for word in range((end - begin + WORD - np.uintp(1)) // WORD):
        some, several, first = np.uint64(0), np.uint64(0), begin + word * WORD
        k, until = first, min(first + WORD, end)
        while k < until:
            stop = min(k + np.uintp(WIDTH), until)
            within = inside(indices, k, EVERY_BIT, low, columns) if stop - k == WIDTH else np.uint8(1)
            if within == ALL:
                both, shift = reaching(newest, indices, k, seen), np.uint64(k - first)
                some |= np.uint64(both & np.uint16(ALL)) << shift
                several |= np.uint64(both >> np.uint16(WIDTH)) << shift
            elif within:
                for p in range(k, stop):
                    one, two = marks_of(newest, indices, p, seen, low, columns)
                    some, several = some | one << np.uint64(p - first), several | two << np.uint64(p - first)
            k = stop
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
        steps, values, past = waiting.spikes[share, STEP], waiting.values[share], waiting.past[share]
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
        before, following = waiting.spikes[share, BEFORE], waiting.spikes[share, NEXT]
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
        waiting.steps[share, i], waiting.seen[share, i] = step, waiting.counts[share, KEPT]
        if seen == waiting.counts[share, KEPT]:
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
        waiting.counts[share, KEPT] = 0

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

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
from event_ops.kernels.numba_cpu.prefetch import prefetch, prefetch_row
from event_ops.kernels.numba_cpu.ranges import ALL, EVERY_BIT, WIDTH, inside, list_reaching
from event_ops.network.learning_loops import raise_traces
from event_ops.network.loops import add_entries, make_deliver
from event_ops.network.waiting_spikes import (
    AT,
    KEPT,
    LAST,
    POSITION,
    SEVERAL,
    WHEN,
    forget_spikes,
    oldest,
    past_traces,
)

ROOM: Final = np.uintp(256)  # synapses that are changed side by side
_LISTED: Final = ROOM // np.uintp(2)  # with one spike, and with several
_VECTOR: Final = np.uintp(16)  # values that a processor changes at once, at most
_AT_ONCE: Final = np.uintp(1 << 20)  # entries of a row whose places fit into a list


@njit(_nrt=False)
def list_entries(
    newest: Any, matrix: Any, begin: Any, end: Any, least: Any, low: Any, columns: Any, lists: Any
) -> Any:
    """List the entries from `begin` on whose neuron has spikes in steps >= least, until a list is full.

    Return the end of what was looked at, and how many entries have one such spike, and several: see
    `list_reaching`.
    """
    weights, indices, _ = matrix
    k, once, several, full = begin, np.uintp(0), np.uintp(0), _LISTED - np.uintp(WIDTH)
    end = min(end, begin + _AT_ONCE)
    while k < end and once <= full and several <= full:
        stop = min(k + np.uintp(WIDTH), end)
        within = inside(indices, k, EVERY_BIT, low, columns) if stop - k == WIDTH else np.uint8(1)
        if within:
            prefetch(weights, k)
        if within == ALL:
            once, several = list_reaching(newest, indices, k, least, begin, lists, once, several)
        elif within:
            for p in range(k, stop):
                j = np.uintp(indices[p])
                if j - low < columns and newest[j, 0] >= least:
                    if newest[j, 1] >= least:
                        lists[SEVERAL, several] = p - begin
                        several += np.uintp(1)
                    else:
                        lists[AT, once], lists[WHEN, once] = p - begin, newest[j, 0]
                        once += np.uintp(1)
        k = stop
    return k, once, several


def make_update_row(load: Any, change: Any, store: Any, post_first: bool, takes_values: bool) -> Any:
    """Return the function that applies the spikes that wait to the synapses of a row in a share.

    takes_values: whether the rule reads a postsynaptic trace.
    """
    lag = int(post_first)

    @njit(_nrt=False)
    def apply(work: Any, i: Any, begin: Any, begin_step: Any, count: Any) -> None:
        (weights, indices, _), variables, _, waiting, share = work
        lists, values, past = waiting.lists[share], waiting.values, waiting.past[share]
        block, synapses = waiting.block[share], (weights,)
        # Whole vectors: the last synapse is changed again where there is no other, and stored once.
        whole = (count + _VECTOR - np.uintp(1)) // _VECTOR * _VECTOR
        for q in range(count, whole):
            for row in (AT, WHEN, POSITION):
                lists[row, q] = lists[row, count - np.uintp(1)]
        for q in range(whole):
            k, back = begin + np.uintp(lists[AT, q]), np.uintp(lists[WHEN, q] - begin_step)
            j = np.uintp(indices[k])
            place = j * KEPT + np.uintp(lists[POSITION, q])
            load(q, k, i, j, place, back, past, values, synapses, variables, block)
        for q in range(whole):
            change(q, i, variables, block)
        for q in range(count):
            store(q, begin + np.uintp(lists[AT, q]), synapses, block)

    @njit(_nrt=False)
    def update_listed(
        work: Any, i: Any, begin: Any, least: Any, begin_step: Any, once: Any, several: Any
    ) -> None:
        """Change the listed synapses, of which `several` have more than one spike."""
        indices, waiting, share = work[0][1], work[3], work[4]
        lists, spikes, kept = waiting.lists[share], waiting.spikes, waiting.kept
        if takes_values:
            for q in range(once):
                lists[POSITION, q] = kept[np.uintp(indices[begin + np.uintp(lists[AT, q])])] - 1
        count = once
        for q in range(several):
            j = np.uintp(indices[begin + np.uintp(lists[SEVERAL, q])])
            last = kept[j] - 1
            position = oldest(spikes, j, last, least)
            lists[AT, count], lists[WHEN, count] = lists[SEVERAL, q], spikes[j * KEPT + position]
            lists[POSITION, count], lists[LAST, count] = position, last
            count += np.uintp(1)
        # Spikes of one neuron change a synapse in their order.
        while count:
            apply(work, i, begin, begin_step, count)
            left = np.uintp(0)
            for q in range(once, count):
                place, position, last = lists[AT, q], lists[POSITION, q], lists[LAST, q]
                if position < last:
                    j = np.uintp(indices[begin + np.uintp(place)])
                    following = np.uintp(position) + np.uintp(1)
                    lists[AT, left], lists[WHEN, left] = place, spikes[j * KEPT + following]
                    lists[POSITION, left], lists[LAST, left] = following, last
                    left += np.uintp(1)
            once, count = np.uintp(0), left

    @njit(_nrt=False)
    def update_row(work: Any, i: Any, step: Any, low: Any, high: Any) -> None:
        matrix, _, decays, waiting, share = work
        past_traces(waiting, share, i, decays, step)
        begin_step = waiting.steps[share, i]
        waiting.steps[share, i] = step
        least, lists = begin_step + lag, waiting.lists[share]
        k, end = row_span(matrix[2], i, np.uintp(matrix[1].size))
        first, columns = np.uintp(low), np.uintp(high) - np.uintp(low)
        while k < end:
            begin = k
            k, once, several = list_entries(waiting.newest, matrix, begin, end, least, first, columns, lists)
            update_listed(work, i, begin, least, begin_step, once, several)

    return update_row


def make_update_all(update_row: Any) -> Any:
    """Return the function that brings all rows of a share up to date, so that no spike waits."""

    @njit
    def update_all(work: Any, step: Any, low: Any, high: Any) -> None:
        waiting, share = work[3], work[4]
        for i in range(np.uintp(waiting.steps.shape[1])):
            update_row(work, i, step, low, high)
        forget_spikes(waiting, share, low, high)

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

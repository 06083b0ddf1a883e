"""Visiting the entries of a sparse matrix whose row is active: of a CSR matrix, or of its transpose."""

from typing import Any

import numpy as np
from numba import prange

from event_ops.kernels.numba_cpu.blocks import AT_ONCE
from event_ops.kernels.numba_cpu.deliver import entries_up_to
from event_ops.kernels.numba_cpu.events import listed_ids
from event_ops.kernels.numba_cpu.jit import njit, num_threads
from event_ops.kernels.numba_cpu.prefetch import ROWS_AHEAD, prefetch, prefetch_row
from event_ops.kernels.numba_cpu.split import MIN_PARALLEL


@njit
def entry(places: Any, p: Any) -> Any:
    """Return where the weight of entry p is: at places[p], or at p where places is None."""
    if places is None:
        return p
    return np.uintp(places[p])


@njit
def prefetch_entries(w: Any, indices: Any, indptr: Any, places: Any, ids: Any, position: Any) -> None:
    """Ask for the operands of the rows after ids[position]: places before the weights that they point at."""
    if places is None:
        prefetch_row(w, indices, indptr, ids, position + ROWS_AHEAD)
    else:
        prefetch_row(places, indices, indptr, ids, position + ROWS_AHEAD)
        if position + np.uintp(1) < np.uintp(ids.size):
            i, nse = np.uintp(ids[position + np.uintp(1)]), np.uintp(indices.size)
            begin, end = min(np.uintp(indptr[i]), nse), min(np.uintp(indptr[i + np.uintp(1)]), nse)
            prefetch_weights(w, places, begin, end)


@njit(_nrt=False)
def prefetch_weights(w: Any, places: Any, begin: Any, end: Any) -> None:
    """Ask for the weights that AT_ONCE entries from `begin` on point at, but none from `end` on."""
    if places is not None:
        for p in range(begin, min(begin + AT_ONCE, end)):
            prefetch(w, np.uintp(places[p]))


@njit
def is_stored(places: Any, k: Any, nse: Any) -> Any:
    """Return whether synapse k is one of nse; in the order of the entries all are, wherever a row ends."""
    if places is None:
        return True
    return k < nse


def make_visit_rows(update: Any) -> Any:
    """Return the function that calls `update` for each entry of some rows in columns, (first, number)."""

    # Nothing is allocated: reference counts of the arrays would take longer than a short row.
    @njit(_nrt=False)
    def visit_rows(
        synapses: Any, indices: Any, indptr: Any, places: Any, columns: Any, variables: Any, ids: Any
    ) -> None:
        nse, (low, size) = np.uintp(indices.size), columns
        for position in range(np.uintp(ids.size)):
            for values in synapses:
                prefetch_entries(values, indices, indptr, places, ids, position)
            i = np.uintp(ids[position])
            begin, end = min(np.uintp(indptr[i]), nse), min(np.uintp(indptr[i + np.uintp(1)]), nse)
            for first in range(begin, end, AT_ONCE):
                later = min(first + AT_ONCE, end)
                for values in synapses:
                    prefetch_weights(values, places, later, end)
                for p in range(first, later):
                    j, k = np.uintp(indices[p]), entry(places, p)
                    if j - low < size and is_stored(places, k, nse):
                        update(k, i, j, synapses, variables)

    return visit_rows


def make_visit_rows_in_blocks(empty: Any, run: Any) -> Any:
    """Return the function that changes the synapses of some rows in blocks, in columns (first, number)."""

    @njit(_nrt=False)
    def visit(
        synapses: Any, indices: Any, indptr: Any, places: Any, columns: Any, variables: Any, ids: Any,
        block: Any, synapse_ids: Any, neurons: Any,
    ) -> None:  # fmt: skip
        nse, (low, size) = np.uintp(indices.size), columns
        for position in range(np.uintp(ids.size)):
            for values in synapses:
                prefetch_entries(values, indices, indptr, places, ids, position)
            i = np.uintp(ids[position])
            begin, end = min(np.uintp(indptr[i]), nse), min(np.uintp(indptr[i + np.uintp(1)]), nse)
            for first in range(begin, end, AT_ONCE):
                later, count = min(first + AT_ONCE, end), np.uintp(0)
                for values in synapses:
                    prefetch_weights(values, places, later, end)
                for p in range(first, later):
                    neurons[count], synapse_ids[count] = indices[p], entry(places, p)
                    count += np.uintp((neurons[count] - low < size) & (synapse_ids[count] < nse))
                run(count, i, synapse_ids, neurons, synapses, variables, block)

    @njit
    def visit_rows(
        synapses: Any, indices: Any, indptr: Any, places: Any, columns: Any, variables: Any, ids: Any
    ) -> None:
        block, room = empty(synapses)
        visit(synapses, indices, indptr, places, columns, variables, ids, block, room[0], room[1])

    return visit_rows


def visiting(visit_rows: Any, large: bool) -> Any:
    """Return the function that visits the rows that spike, on one thread or on all: no two share a synapse.

    It takes all threads if there are entries enough.
    """

    # Inlined, since only the parallel regions of a kernel itself are entered without the GIL.
    @njit(inline="always" if large else "never")
    def visit(
        synapses: Any, indices: Any, indptr: Any, places: Any, spikes: Any, limit: Any, variables: Any
    ) -> None:
        ids, columns = listed_ids(spikes), (np.uintp(0), np.uintp(limit))
        ends = entries_up_to(indptr, ids) if large else ids
        work = ends[ids.size] if large else 0
        if not large or work < MIN_PARALLEL:
            visit_rows(synapses, indices, indptr, places, columns, variables, ids)
        else:
            parts = num_threads()
            for part in prange(parts):
                low = np.searchsorted(ends, work * part // parts)
                high = np.searchsorted(ends, work * (part + 1) // parts)
                mine = ids[low : ids.size if part + 1 == parts else high]
                visit_rows(synapses, indices, indptr, places, columns, variables, mine)

    return visit

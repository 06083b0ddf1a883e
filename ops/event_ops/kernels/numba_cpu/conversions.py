"""CSR to CSC on the CPU by a counting sort, two passes over the entries; CSR to dense row by row.

A sort is no loop along rows with a term; and todense clears a row just before it adds to it, in the cache.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import prange

from event_ops.checks.arrays import reaches
from event_ops.kernels.numba_cpu.access import at, hoist
from event_ops.kernels.numba_cpu.jit import njit, num_threads, one_and_all
from event_ops.kernels.numba_cpu.split import MIN_PARALLEL, by_size, first_row, parts_for


@njit
def rows_of_entries(indices: Any, indptr: Any) -> Any:
    """Return the row of every entry, or the number of rows for an entry that no row holds.

    One row for each entry, whatever indptr holds: so the sort below moves every entry exactly once.
    """
    nse, rows = np.uintp(indices.size), np.uintp(indptr.size - 1)
    row = np.full(indices.size, rows, indices.dtype)
    for i in range(rows):
        for k in range(min(np.uintp(indptr[i]), nse), min(np.uintp(indptr[i + np.uintp(1)]), nse)):
            row[k] = i
    return row


@njit
def bin_of(row: Any, column: Any, rows: Any, columns: Any) -> Any:
    """Return the column of an entry, or the number of columns for an entry without row or column."""
    if np.uintp(row) < rows:
        return min(np.uintp(column), columns)
    # Entries that no column holds end up behind all columns.
    return columns


@njit
def count(row: Any, indices: Any, places: Any, rows: Any, low: Any, high: Any) -> None:
    """places[j] = the number of entries from `low` to `high` that are in bin j."""
    places[:] = 0
    for k in range(np.uintp(low), np.uintp(high)):
        places[bin_of(row[k], indices[k], rows, np.uintp(places.size - 1))] += np.uintp(1)


@njit
def add_up(places: Any, csc_indptr: Any) -> None:
    """Turn the count of each part and bin into the place where the part writes its first entry of it."""
    # Column by column, and in each part after part: so the sort keeps the order of the entries of a column.
    total = np.uintp(0)
    for j in range(np.uintp(csc_indptr.size)):
        csc_indptr[j] = total
        for part in range(np.uintp(places.shape[0])):
            mine = places[part, j]
            places[part, j] = total
            total += mine


@njit
def move(
    row: Any, indices: Any, places: Any, rows: Any, low: Any, high: Any, csc_indices: Any, permutation: Any
) -> None:
    """Write the entries from `low` to `high` to their places."""
    for k in range(np.uintp(low), np.uintp(high)):
        j = bin_of(row[k], indices[k], rows, np.uintp(places.size - 1))
        p = places[j]
        csc_indices[p], permutation[p] = row[k], k
        places[j] = p + np.uintp(1)


@one_and_all
def TOCSC(large: bool) -> Any:
    """Return the function that sorts entries, of which each thread counts and moves a part."""

    def tocsc(indices: Any, indptr: Any, csc_indices: Any, csc_indptr: Any, permutation: Any) -> None:
        rows, nse = np.uintp(indptr.size - 1), indices.size
        row = rows_of_entries(indices, indptr)
        parts = parts_for(nse, csc_indptr.size) if large else 1
        places = np.empty((parts, csc_indptr.size), np.uintp)
        for part in prange(parts):
            count(row, indices, places[part], rows, nse * part // parts, nse * (part + 1) // parts)
        add_up(places, csc_indptr)
        for part in prange(parts):
            low, high = nse * part // parts, nse * (part + 1) // parts
            move(row, indices, places[part], rows, low, high, csc_indices, permutation)

    return tocsc


csr_tocsc = by_size(TOCSC, lambda indices, indptr: reaches(indices.size, MIN_PARALLEL))


# Below this many elements to clear or add to, one thread is done before all have started.
MIN_FILL_PARALLEL = 1 << 17


@njit
def fill_rows(data: Any, indices: Any, indptr: Any, D: Any, low: int, high: int) -> None:
    """D[i] = the entries of row i, added up by column, for the rows from `low` to `high`."""
    weights = hoist(data)
    nse, columns = np.uintp(indices.size), np.uintp(D.shape[1])
    for i in range(np.uintp(low), np.uintp(high)):
        row = D[i]
        row[:] = 0
        for k in range(min(np.uintp(indptr[i]), nse), min(np.uintp(indptr[i + np.uintp(1)]), nse)):
            j = np.uintp(indices[k])
            if j < columns:
                row[j] += at(weights, k)


@one_and_all
def TODENSE(large: bool) -> Any:
    """Return the function that fills the rows, which threads share."""

    def todense(data: Any, indices: Any, indptr: Any, D: Any) -> None:
        parts = num_threads() if large else 1
        for part in prange(parts):
            low, high = first_row(indptr, part, parts), first_row(indptr, part + 1, parts)
            fill_rows(data, indices, indptr, D, low, high)

    return todense


def csr_todense(*, outs: Any, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays: on one thread, or on all for many elements."""

    def is_large(data: Any, indices: Any, indptr: Any) -> bool:
        return reaches(outs.size + indices.size, MIN_FILL_PARALLEL)

    return by_size(TODENSE, is_large)(outs=outs)

"""CSR to CSC on the CPU: a counting sort, two passes over the entries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit

from ffi_bridge import numba_kernel


@njit
def rows_of_entries(indices: Any, indptr: Any) -> Any:
    """The row of every entry, and the number of rows for one that no row spans.

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
    """The column of an entry; for one without row or column the bin behind the last."""
    if np.uintp(row) < rows:
        return min(np.uintp(column), columns)
    return columns


@njit
def tocsc(indices: Any, indptr: Any, csc_indices: Any, csc_indptr: Any, permutation: Any) -> None:
    one, nse = np.uintp(1), np.uintp(indices.size)
    rows, columns = np.uintp(indptr.size - 1), np.uintp(csc_indptr.size - 1)
    row = rows_of_entries(indices, indptr)
    place = np.zeros(columns + np.uintp(2), np.uintp)
    for k in range(nse):
        place[bin_of(row[k], indices[k], rows, columns) + one] += one
    for j in range(columns + one):
        place[j + one] += place[j]
        csc_indptr[j] = place[j]
    for k in range(nse):
        j = bin_of(row[k], indices[k], rows, columns)
        p = place[j]
        csc_indices[p], permutation[p] = row[k], k
        place[j] = p + one


def generator(*, outs: Any, **_: Any) -> Callable[..., Any]:
    """The callable."""
    return numba_kernel(tocsc, outs)

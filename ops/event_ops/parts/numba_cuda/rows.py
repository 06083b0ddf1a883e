"""Which row of a CSR matrix an entry is in: a binary search of indptr, begun once for a block of entries."""

from __future__ import annotations

from typing import Any

from numba import cuda

from event_ops.parts.numba_cuda.access import place


@cuda.jit(device=True)
def upper_bound(x: Any, value: Any, low: Any, high: Any) -> Any:
    """The first position from `low` on whose element of the sorted x is greater than `value`, or `high`."""
    while low < high:
        middle = (low + high) // 2
        if x[middle] <= value:
            low = middle + 1
        else:
            high = middle
    return low


@cuda.jit(device=True)
def search_range(indptr: Any, first: Any, end: Any) -> Any:
    """Between which bounds `row_of_entry` finds the rows of the entries from `first` up to `end`."""
    low = upper_bound(indptr, first, 0, indptr.size)
    return low, upper_bound(indptr, end - 1, low, indptr.size)


@cuda.jit(device=True)
def row_of_entry(indptr: Any, k: Any, low: Any, high: Any) -> Any:
    """The row that holds entry k, or -1."""
    return place(upper_bound(indptr, k, low, high) - 1, indptr.size - 1)

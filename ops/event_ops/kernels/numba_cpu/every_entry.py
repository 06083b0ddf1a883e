"""One pass over the entries of a CSR matrix in which each is written, whatever the row pointer holds."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from event_ops.kernels.numba_cpu.jit import njit


@njit
def row_at(indptr: Any, k: Any) -> Any:
    """Return the row that holds entry k, or row 0 if k is in front of all rows."""
    low, high = np.uintp(0), np.uintp(indptr.size - 1)
    while low < high:
        middle = (low + high + np.uintp(1)) // np.uintp(2)
        if np.uintp(indptr[middle]) <= k:
            low = middle
        else:
            high = middle - np.uintp(1)
    return low


@cache
def every_entry_with(fill_row: Callable[..., None]) -> Any:
    """Return the kernel that writes out[k] for the entries from `low` to `high`, 0 where no row holds k.

    `fill_row(operands, i, out, begin, end)` writes the entries of row i from `begin` to `end`.
    """

    @njit
    def every_entry(indptr: Any, operands: Any, out: Any, low: Any, high: Any) -> None:
        done, end = np.uintp(low), np.uintp(high)
        for i in range(row_at(indptr, done), np.uintp(indptr.size - 1)):
            start, stop = min(np.uintp(indptr[i]), end), min(np.uintp(indptr[i + np.uintp(1)]), end)
            out[done : max(done, start)] = 0
            done = max(done, start)
            if done < stop:
                fill_row(operands, i, out, done, stop)
                done = stop
            if done == end:
                break
        out[done:end] = 0

    return every_entry

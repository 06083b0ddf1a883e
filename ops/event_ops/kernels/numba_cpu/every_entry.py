"""One pass over the entries of a CSR matrix in which each is written, whatever the row pointer holds.

The rows of two operators are written here: of sampled products, and of rows that are scaled.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numba import prange

from event_ops.kernels.numba_cpu.access import product, row_span
from event_ops.kernels.numba_cpu.jit import REORDER, by_type, dtype_of, njit, one_and_all, take_chunks_of
from event_ops.kernels.numba_cpu.prefetch import STREAM_AHEAD, is_far, prefetch_range, prefetch_targets
from event_ops.kernels.numba_cpu.split import chunks


@njit
def row_at(indptr: Any, k: Any) -> Any:
    """Return the row that holds entry k, or row 0 if k is in front of all rows."""
    low, high = np.uintp(0), np.uintp(indptr.size - 1)
    while low < high:
        middle = (low + high + np.uintp(1)) // np.uintp(2)
        # Unsigned, a pointer below 0 is one beyond every entry.
        if np.uintp(indptr[middle]) <= k:
            low = middle
        else:
            high = middle - np.uintp(1)
    return low


@cache
def make_every_entry(fill_row: Callable[..., None]) -> tuple[Any, Any]:
    """Return the kernels that write out[k] for every entry, 0 where no row holds it: one thread, all threads.

    `fill_row(operands, i, out, begin, end)` writes the entries of row i from `begin` to `end`.
    """

    @njit
    def entries(indptr: Any, operands: Any, out: Any, low: Any, high: Any) -> None:
        done, end = np.uintp(low), np.uintp(high)
        for i in range(row_at(indptr, done), np.uintp(indptr.size - 1)):
            # `done` never goes back, whatever indptr holds: every entry is written, and once.
            start, stop = row_span(indptr, i, end)
            out[done : max(done, start)] = 0
            done = max(done, start)
            if done < stop:
                fill_row(operands, i, out, done, stop)
                done = stop
            if done == end:
                break
        out[done:end] = 0

    @one_and_all
    def every_entry(large: bool) -> Any:
        def entries_in_parts(first: Any, indptr: Any, x: Any, y: Any, out: Any) -> None:
            parts = chunks() if large else 1
            if large:
                take_chunks_of(1)
            for part in prange(parts):
                low, high = out.size * part // parts, out.size * (part + 1) // parts
                entries(indptr, (first, x, y), out, low, high)
            if large:
                take_chunks_of(0)

        return entries_in_parts

    return every_entry


@by_type(fastmath=REORDER)
def dot(X: Any, i: Any, Y: Any, j: Any, zero: Any) -> Any:
    """Return the sum over n of X[i, n] * Y[j, n], or X[i] * Y[j] for vectors."""
    if X.ndim == 1:
        return lambda X, i, Y, j, zero: product(X[i], Y[j])

    def rows(X: Any, i: Any, Y: Any, j: Any, zero: Any) -> Any:
        total = zero
        for c in range(np.uintp(X.shape[1])):
            total += product(X[i, c], Y[j, c])
        return total

    return rows


@by_type
def is_silent(X: Any, i: Any) -> Any:
    """Return whether row i of X holds events of which none is active."""
    if dtype_of(X) == np.bool_:
        return (lambda X, i: not X[i]) if X.ndim == 1 else (lambda X, i: not X[i].any())
    return lambda X, i: False


@njit(fastmath=REORDER)
def dot_entries(indices: Any, X: Any, i: Any, Y: Any, out: Any, low: Any, high: Any) -> None:
    """out[k] for the entries from `low` to `high`, all of row i."""
    zero = out.dtype.type(0)
    for k in range(low, high):
        j = np.uintp(indices[k])
        out[k] = dot(X, i, Y, j, zero) if j < np.uintp(Y.shape[0]) else zero


@njit(_nrt=False, forceinline=True)
def sample_row(operands: Any, i: Any, out: Any, low: Any, high: Any) -> None:
    """out[k] for the entries from `low` to `high`, all of row i; Y is not read for a row without events."""
    indices, X, Y = operands
    if is_silent(X, i):
        for k in range(low, high):
            out[k] = 0
        return
    if is_far(indices):
        prefetch_range(indices, low + STREAM_AHEAD, high + STREAM_AHEAD)
    if is_far(Y):
        prefetch_targets(Y, indices, low, high)
    dot_entries(indices, X, i, Y, out, low, high)


@njit(_nrt=False, forceinline=True)
def scale_row(operands: Any, i: Any, out: Any, low: Any, high: Any) -> None:
    """out[k] = data[k] * x[i] for the entries from `low` to `high`."""
    data, x, _ = operands
    factor = x[i]
    for k in range(low, high):
        out[k] = product(data[k], factor)

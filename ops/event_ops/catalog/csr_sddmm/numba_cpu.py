"""The sampled dense-dense product on the CPU: one pass over the entries, every one of which is written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import prange, types
from numba.extending import overload

from event_ops.parts.numba_cpu.access import weighted
from event_ops.parts.numba_cpu.jit import REORDER, njit, num_threads
from event_ops.parts.numba_cpu.matmat import is_large
from event_ops.parts.numba_cpu.prefetch import STREAM_AHEAD, is_far, prefetch_range, prefetch_targets
from ffi_bridge import numba_kernel


def product(x: Any, y: Any) -> Any:
    """x * y, and exactly 0 where one of them is False."""
    return weighted(y, x) if isinstance(x, bool | np.bool_) else weighted(x, y)


@overload(product, strict=False)
def _product(x: Any, y: Any) -> Any:
    if isinstance(x, types.Boolean):
        return lambda x, y: weighted(y, x)
    if isinstance(y, types.Boolean):
        return lambda x, y: weighted(x, y)
    return lambda x, y: x * y


def dot(X: Any, i: Any, Y: Any, j: Any, zero: Any) -> Any:
    """Return the sum over n of X[i, n] * Y[j, n], or X[i] * Y[j] for vectors."""
    return sum(map(product, np.atleast_1d(X[i]), np.atleast_1d(Y[j])), zero)


@overload(dot, strict=False, jit_options={"fastmath": REORDER})
def _dot(X: Any, i: Any, Y: Any, j: Any, zero: Any) -> Any:
    if X.ndim == 1:
        return lambda X, i, Y, j, zero: product(X[i], Y[j])

    def rows(X: Any, i: Any, Y: Any, j: Any, zero: Any) -> Any:
        total = zero
        for c in range(np.uintp(X.shape[1])):
            total += product(X[i, c], Y[j, c])
        return total

    return rows


def is_silent(X: Any, i: Any) -> bool:
    """Return whether row i of X holds events of which none is active."""
    return X.dtype == bool and not np.any(X[i])


@overload(is_silent, strict=False)
def _is_silent(X: Any, i: Any) -> Any:
    if isinstance(X.dtype, types.Boolean):
        return (lambda X, i: not X[i]) if X.ndim == 1 else (lambda X, i: not X[i].any())
    return lambda X, i: False


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


@njit(fastmath=REORDER)
def sample_row(indices: Any, X: Any, i: Any, Y: Any, out: Any, low: Any, high: Any) -> None:
    """out[k] for the entries from `low` to `high`, all of row i."""
    zero = out.dtype.type(0)
    for k in range(low, high):
        j = np.uintp(indices[k])
        out[k] = dot(X, i, Y, j, zero) if j < np.uintp(Y.shape[0]) else zero


@njit
def sample(indices: Any, indptr: Any, X: Any, Y: Any, out: Any, low: Any, high: Any) -> None:
    """out[k] for the entries from `low` to `high`, each written once whatever indptr holds."""
    done, end = np.uintp(low), np.uintp(high)
    streamed, far = is_far(indices), is_far(Y)
    for i in range(row_at(indptr, done), np.uintp(indptr.size - 1)):
        start, stop = min(np.uintp(indptr[i]), end), min(np.uintp(indptr[i + np.uintp(1)]), end)
        out[done : max(done, start)] = 0
        done = max(done, start)
        if done < stop:
            if is_silent(X, i):
                out[done:stop] = 0
            else:
                if streamed:
                    prefetch_range(indices, done + STREAM_AHEAD, stop + STREAM_AHEAD)
                if far:
                    prefetch_targets(Y, indices, done, stop)
                sample_row(indices, X, i, Y, out, done, stop)
            done = stop
        if done == end:
            break
    out[done:end] = 0


@njit
def sddmm(indices: Any, indptr: Any, X: Any, Y: Any, out: Any) -> None:
    sample(indices, indptr, X, Y, out, 0, out.size)


@njit(parallel=True)
def sddmm_parallel(indices: Any, indptr: Any, X: Any, Y: Any, out: Any) -> None:
    parts = num_threads()
    for part in prange(parts):
        low, high = out.size * part // parts, out.size * (part + 1) // parts
        sample(indices, indptr, X, Y, out, low, high)


def build(*, outs: Any, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays: on one thread, or on all for many terms."""

    def call(indices: Any, indptr: Any, X: Any, Y: Any) -> Any:
        large = is_large(indices.size, X.shape[1] if X.ndim == 2 else 1)
        return numba_kernel(sddmm_parallel if large else sddmm, outs)(indices, indptr, X, Y)

    return call

"""The sampled dense-dense product on the CPU: one pass over the entries, every one of which is written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import prange, types
from numba.extending import overload

from event_ops.kernels.numba_cpu.access import product
from event_ops.kernels.numba_cpu.every_entry import every_entry_with
from event_ops.kernels.numba_cpu.jit import REORDER, njit, take_chunks_of
from event_ops.kernels.numba_cpu.matmat import is_large
from event_ops.kernels.numba_cpu.prefetch import STREAM_AHEAD, is_far, prefetch_range, prefetch_targets
from event_ops.kernels.numba_cpu.split import chunks
from ffi_bridge import numba_kernel


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


@njit(fastmath=REORDER)
def sample_row(indices: Any, X: Any, i: Any, Y: Any, out: Any, low: Any, high: Any) -> None:
    """out[k] for the entries from `low` to `high`, all of row i."""
    zero = out.dtype.type(0)
    for k in range(low, high):
        j = np.uintp(indices[k])
        out[k] = dot(X, i, Y, j, zero) if j < np.uintp(Y.shape[0]) else zero


@njit(_nrt=False, forceinline=True)
def fill_row(operands: Any, i: Any, out: Any, low: Any, high: Any) -> None:
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
    sample_row(indices, X, i, Y, out, low, high)


sample = every_entry_with(fill_row)


@njit
def sddmm(indices: Any, indptr: Any, X: Any, Y: Any, out: Any) -> None:
    sample(indptr, (indices, X, Y), out, 0, out.size)


@njit(parallel=True)
def sddmm_parallel(indices: Any, indptr: Any, X: Any, Y: Any, out: Any) -> None:
    parts = chunks()
    take_chunks_of(1)
    for part in prange(parts):
        low, high = out.size * part // parts, out.size * (part + 1) // parts
        sample(indptr, (indices, X, Y), out, low, high)
    take_chunks_of(0)


def build(*, outs: Any, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays: on one thread, or on all for many terms."""

    def call(indices: Any, indptr: Any, X: Any, Y: Any) -> Any:
        large = is_large(indices.size, X.shape[1] if X.ndim == 2 else 1)
        return numba_kernel(sddmm_parallel if large else sddmm, outs)(indices, indptr, X, Y)

    return call

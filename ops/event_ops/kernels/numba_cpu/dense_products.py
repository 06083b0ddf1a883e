"""Products of a dense matrix with events on the CPU: each vector of events with parts of the weights in turn.

Only the rows or columns of active events are read, if they are few. A part of the weights stays in the cache
while the vectors take their turns; a single vector takes them all. Vectors lie in rows, as `vmap` over
vectors has them.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np
from numba import prange

from event_ops.checks.arrays import reaches
from event_ops.kernels.numba_cpu.access import at, weighted
from event_ops.kernels.numba_cpu.events import active_value, ids_by_row, values_of
from event_ops.kernels.numba_cpu.jit import REORDER, njit, num_threads, one_and_all, take_chunks_of
from event_ops.kernels.numba_cpu.prefetch import is_far, prefetch
from event_ops.kernels.numba_cpu.split import MIN_PARALLEL, chunks, unchanged
from ffi_bridge import numba_kernel

CACHED: Final = 1 << 16  # weights of a part
NARROWEST: Final = 128  # columns of a part: with fewer, too little is read in order
# Rows read at once: four streams from memory are faster than one, and sums are written once for four rows.
# Columns taken at once: their sums stay in the nearest cache.
ROWS = np.uintp(4)
COLUMNS = np.uintp(4096)

# Picking one weight out of a row takes as long as multiplying this many of its neighbours. From a matrix that
# no cache holds, weights are asked for so many rows ahead.
PICK_COST = 16
PICK_AHEAD = np.uintp(4)


@njit(fastmath=REORDER)
def add_four_rows(weights: Any, events: Any, ids: Any, y: Any, low: Any, high: Any) -> None:
    """y += event * row over the first four `ids`, in the columns from `low` to `high`."""
    i0, i1, i2, i3 = np.uintp(ids[0]), np.uintp(ids[1]), np.uintp(ids[2]), np.uintp(ids[3])
    e0, e1 = active_value(events, i0), active_value(events, i1)
    e2, e3 = active_value(events, i2), active_value(events, i3)
    w0, w1, w2, w3 = weights[i0], weights[i1], weights[i2], weights[i3]
    for j in range(low, high):
        first, third = weighted(at(w0, j), e0), weighted(at(w2, j), e2)
        y[j] += (first + weighted(at(w1, j), e1)) + (third + weighted(at(w3, j), e3))


@njit(fastmath=REORDER)
def add_dense_rows(weights: Any, events: Any, ids: Any, y: Any, low: int, high: int) -> None:
    """y = sum of event * row over the rows `ids`, in the columns from `low` to `high`."""
    fours = np.uintp(ids.size) // ROWS * ROWS
    for start in range(np.uintp(low), np.uintp(high), COLUMNS):
        end = min(start + COLUMNS, np.uintp(high))
        for j in range(start, end):
            y[j] = 0
        for position in range(np.uintp(0), fours, ROWS):
            add_four_rows(weights, events, ids[position : position + ROWS], y, start, end)
        for position in range(fours, np.uintp(ids.size)):
            i = np.uintp(ids[position])
            row, event = weights[i], active_value(events, i)
            for j in range(start, end):
                y[j] += weighted(at(row, j), event)


@njit(fastmath=REORDER)
def pick_columns(weights: Any, values: Any, ids: Any, y: Any, low: Any, high: Any) -> None:
    """y[i] = sum of weights[i, j] * values[j] over the j in `ids`, for the rows from `low` to `high`."""
    every, columns, far = weights.reshape(-1), np.uintp(values.size), is_far(weights)
    for i in range(low, high):
        row, total, later = weights[i], y.dtype.type(0), (i + PICK_AHEAD) * columns
        # For the last rows this asks for memory beyond the matrix: a prefetch never faults.
        if far:
            for position in range(np.uintp(ids.size)):
                prefetch(every, later + np.uintp(ids[position]))
        for position in range(np.uintp(ids.size)):
            j = np.uintp(ids[position])
            total += at(row, j) * values[j]
        y[i] = total


@njit(fastmath=REORDER)
def dot_four_rows(weights: Any, values: Any, y: Any, i: Any) -> None:
    """y[i] = row i * values, and so for the three rows after it."""
    i1, i2, i3 = i + np.uintp(1), i + np.uintp(2), i + np.uintp(3)
    w0, w1, w2, w3 = weights[i], weights[i1], weights[i2], weights[i3]
    t0 = t1 = t2 = t3 = y.dtype.type(0)
    for j in range(np.uintp(values.size)):
        value = values[j]
        t0 += weighted(at(w0, j), value)
        t1 += weighted(at(w1, j), value)
        t2 += weighted(at(w2, j), value)
        t3 += weighted(at(w3, j), value)
    y[i], y[i1], y[i2], y[i3] = t0, t1, t2, t3


@njit(fastmath=REORDER)
def dot_rows(weights: Any, values: Any, ids: Any, y: Any, low: int, high: int) -> None:
    """y[i] = row i * values for the rows from `low` to `high`; `ids` are the places of values not 0."""
    start, end = np.uintp(low), np.uintp(high)
    if ids.size * PICK_COST < values.size:
        pick_columns(weights, values, ids, y, start, end)
        return
    fours = start + (end - start) // ROWS * ROWS
    for i in range(start, fours, ROWS):
        dot_four_rows(weights, values, y, i)
    for i in range(fours, end):
        row, total = weights[i], y.dtype.type(0)
        for j in range(np.uintp(values.size)):
            total += weighted(at(row, j), values[j])
        y[i] = total


@njit
def gather(weights: Any, values: Any, ids: Any, ends: Any, y: Any, low: int, high: int) -> None:
    """y[c] = W @ values[c] for the rows of W from `low` to `high`."""
    height = max(ROWS, np.uintp(CACHED // max(1, weights.shape[1])) // ROWS * ROWS)
    if y.shape[0] == 1:
        # With one vector weights are read once: nothing has to stay in the cache. So below.
        height = max(height, np.uintp(high))
    for start in range(np.uintp(low), np.uintp(high), height):
        end = min(start + height, np.uintp(high))
        for c in range(y.shape[0]):
            dot_rows(weights, values[c], ids[ends[c] : ends[c + 1]], y[c], start, end)


@njit
def scatter(weights: Any, events: Any, ids: Any, ends: Any, y: Any, low: int, high: int) -> None:
    """y[c] = W.T @ events[c] for the columns of W from `low` to `high`."""
    width = np.uintp(max(NARROWEST, CACHED // max(1, weights.shape[0])))
    if y.shape[0] == 1:
        width = max(width, np.uintp(high))
    for start in range(np.uintp(low), np.uintp(high), width):
        end = min(start + width, np.uintp(high))
        for c in range(y.shape[0]):
            add_dense_rows(weights, events[c], ids[ends[c] : ends[c + 1]], y[c], start, end)


@cache
def make_kernels(share: Any, values: Any, shares: Any) -> tuple[Any, Any]:
    """Return the kernels for one thread, and for all threads that take `shares()` of the outputs in turn."""

    @one_and_all
    def product(large: bool) -> Any:
        def in_shares(weights: Any, events: Any, y: Any) -> None:
            factors, (ids, ends), size = values(events, y), ids_by_row(events), y.shape[1]
            if not large or ends[-1] * size < MIN_PARALLEL:
                share(weights, factors, ids, ends, y, 0, size)
            else:
                parts = shares()
                take_chunks_of(1)
                for part in prange(parts):
                    share(weights, factors, ids, ends, y, size * part // parts, size * (part + 1) // parts)
                take_chunks_of(0)

        return in_shares

    return product


def product(*, outs: Any, transpose: bool, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays for one orientation: on one thread, or on all for many terms."""
    size, *columns = outs.shape
    by_vector = jax.ShapeDtypeStruct((*(columns or [1]), size), outs.dtype)
    # Bools stay bools in a scatter: they select weights, which is faster than a product.
    scattering, gathering = (scatter, unchanged, num_threads), (gather, values_of, chunks)
    kernels = make_kernels(*(scattering if transpose else gathering))

    def call(weights: Any, events: Any) -> Any:
        vectors = jnp.atleast_2d(events.T)
        kernel = kernels[reaches(weights.size * vectors.shape[0], MIN_PARALLEL)]
        return numba_kernel(kernel, by_vector)(weights, vectors).T.reshape(outs.shape)

    return call


dense_event_matvec = dense_event_matmat = product

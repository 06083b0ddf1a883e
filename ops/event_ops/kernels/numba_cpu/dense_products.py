"""Products of a dense matrix with events on the CPU: each vector of events with parts of the weights in turn.

A part of the weights stays in the cache while the vectors take their turns; a single vector takes them all.
Vectors lie in rows, as `vmap` over vectors has them.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np
from numba import prange

from event_ops.checks.arrays import reaches
from event_ops.kernels.numba_cpu.dense import ROWS, add_dense_rows, dot_rows
from event_ops.kernels.numba_cpu.events import ids_by_row, values_of
from event_ops.kernels.numba_cpu.jit import njit, num_threads, one_and_all, take_chunks_of
from event_ops.kernels.numba_cpu.split import MIN_PARALLEL, chunks, unchanged
from ffi_bridge import numba_kernel

CACHED: Final = 1 << 16  # weights of a part
NARROWEST: Final = 128  # columns of a part: with fewer, too little is read in order


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

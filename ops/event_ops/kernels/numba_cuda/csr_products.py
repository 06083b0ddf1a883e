"""Products of a CSR matrix on a GPU: the longer rows are, the more threads share one.

With a matrix, neighbouring threads take neighbouring columns; where it has fewer columns than a warp has
threads, several share the entries of a row, too. Transposed with events, a warp reads 32 of a row and adds
the entries of that row for the active ones. If these are few, each lane has an entry; if many, each has a
column, so that a warp adds to neighbours.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numba import cuda

from event_ops.kernels.numba_cuda import row_products
from event_ops.kernels.numba_cuda.access import (
    event_at_for,
    is_active,
    is_inside,
    launched,
    place,
    stored_weights,
    weight_for,
    weight_in,
)
from event_ops.kernels.numba_cuda.by_length import lanes_of
from event_ops.kernels.numba_cuda.deliver import deliver
from event_ops.kernels.numba_cuda.event_columns import active_words, make_gather_events, term_for
from event_ops.kernels.numba_cuda.every_entry import csr_scale_rows as csr_scale_rows
from event_ops.kernels.numba_cuda.every_entry import csr_sddmm as csr_sddmm
from event_ops.kernels.numba_cuda.fixed_order import in_fixed_order
from event_ops.kernels.numba_cuda.row_products import beside_own, csr_row, of_difference, of_event, of_number
from event_ops.kernels.numba_cuda.scatter import adding_callable
from event_ops.kernels.numba_cuda.threads import BLOCK, WARP, blocks_of, clear, lanes_where
from event_ops.kernels.numba_cuda.tile_products import make_gather_tiles, make_scatter_tiles, width_of
from event_ops.kernels.numba_cuda.wide import several_of
from ffi_bridge import numba_cuda_callable

DENSE_FROM = 8  # active ones of 32 events
MAX_PARTS = 1024
ENTRIES_PER_PART = 256


@cuda.jit(device=True)
def add_to_columns(weight: Any, events: Any, i: Any, first: Any, mask: Any, y: Any, j: Any) -> None:
    """y[j, c] += weight * events[i, c] for the columns c whose bits `mask` has, counted from `first`."""
    while mask != 0:
        c = first + cuda.ffs(mask) - 1
        mask &= mask - 1
        cuda.atomic.add(y, (j, np.uint64(c)), weight * y.dtype.type(events[i, c]))


@cache
def make_event_scatter(weight_of: Any) -> Any:
    """Return the kernel `y[indices[k], c] += weight k * events[i, c]` over row i; weights are `launched`.

    A warp takes 32 columns of a part of the row.
    """

    @cuda.jit
    def scatter_rows(data: Any, permutation: Any, indices: Any, indptr: Any, events: Any, y: Any) -> None:
        n, nse, lane = events.shape[1], indices.size, cuda.grid(1) % WARP
        tiles = (n + WARP - 1) // WARP
        i, first = cuda.grid(1) // WARP // tiles, cuda.grid(1) // WARP % tiles * WARP
        c, event = first + lane, y.dtype.type(0)
        if i < events.shape[0] and c < n:
            event = y.dtype.type(events[i, c])
        mask = lanes_where(is_active(event))
        # All of a warp leave, or none: the mask is the same in every lane.
        if mask == 0:
            return
        low, high = csr_row(indptr, i, nse)
        part, parts = cuda.blockIdx.y, cuda.gridDim.y
        if cuda.popc(mask) < DENSE_FROM:
            k = np.uint64(low + part * WARP + lane)
            while k < np.uint64(high):
                j, weight = indices[k], weight_of((data, permutation), k)
                if is_inside(j, y.shape[0]):
                    add_to_columns(weight, events, i, first, mask, y, np.uint64(j))
                k += np.uint64(parts * WARP)
        # Lanes have neighbouring columns here, and all read the same entry.
        elif is_active(event):
            k = np.uint64(low + part)
            while k < np.uint64(high):
                j, weight = indices[k], weight_of((data, permutation), k)
                if is_inside(j, y.shape[0]):
                    cuda.atomic.add(y, (np.uint64(j), np.uint64(c)), weight * event)
                k += np.uint64(parts)

    return scatter_rows


@cuda.jit
def count_ids(ids: Any, counts: Any) -> None:
    """counts[id] += 1 for every spike id that is in range."""
    position = cuda.grid(1)
    if position < ids.size:
        i = place(ids[position], counts.size)
        if i >= 0:
            cuda.atomic.add(counts, i, counts.dtype.type(1))


def counted(ids: Any, size: int, dtype: Any, stream: Any) -> Any:
    """Launch the count of spike ids, and return how often each of `size` neurons is among them."""
    counts = cuda.device_array(size, dtype=dtype)
    clear(counts, stream)
    count_ids[blocks_of(ids.size), BLOCK, stream](ids, counts)
    return counts


@in_fixed_order
def csr_matvec(*, outs: Any, transpose: bool, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays for one orientation."""

    def gather(data: Any, indices: Any, indptr: Any, v: Any, y: Any, stream: Any) -> None:
        term = of_number(weight_in(data))
        row_products.gather((data,), indices, indptr, v, v.size, y, stream, term)

    def scatter(data: Any, indices: Any, indptr: Any, v: Any, y: Any, stream: Any) -> None:
        clear(y, stream)
        row_products.scatter(data, indices, indptr, v, y, stream, weight_in(data))

    product = adding_callable(scatter, outs) if transpose else numba_cuda_callable(gather, outs)
    return lambda data, *others: product(stored_weights(data.reshape(-1), outs.dtype), *others)


def csr_gap_current(*, outs: Any, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays: a gather in which row i also sees v[i]."""

    def gather(data: Any, indices: Any, indptr: Any, v: Any, y: Any, stream: Any) -> None:
        term = of_difference(weight_in(data))
        row_products.gather((data,), indices, indptr, v, v.size, y, stream, term, seen_by=beside_own)

    current = numba_cuda_callable(gather, outs)
    return lambda data, *others: current(data.reshape(-1), *others)


@in_fixed_order
def csr_matmat(*, outs: Any, shape: tuple[int, int], transpose: bool, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays for one orientation; columns of B, then entries of a row, fill a warp."""
    rows, columns = shape[0], outs.shape[1]

    def gather(data: Any, indices: Any, indptr: Any, B: Any, y: Any, stream: Any) -> None:
        per = several_of(columns, B.dtype)
        width = width_of(columns, per)
        lanes, tiles = lanes_of(indices.size, rows, width), rows * blocks_of(columns, width * per)
        kernel = make_gather_tiles(width, lanes, per, y.dtype, indices.dtype)
        kernel[blocks_of(tiles * width * lanes), BLOCK, stream](data, indices, indptr, B, y)

    def scatter(data: Any, indices: Any, indptr: Any, B: Any, y: Any, stream: Any) -> None:
        clear(y, stream)
        width = width_of(columns)
        lanes, tiles = lanes_of(indices.size, rows, width), rows * blocks_of(columns, width)
        kernel = make_scatter_tiles(width, lanes, y.dtype, indices.dtype)
        kernel[blocks_of(tiles * width * lanes), BLOCK, stream](data, indices, indptr, B, y)

    product = adding_callable(scatter, outs) if transpose else numba_cuda_callable(gather, outs)
    return lambda data, *others: product(stored_weights(data.reshape(-1), outs.dtype), *others)


@in_fixed_order
def csr_event_matvec(*, outs: Any, shape: tuple[int, int], transpose: bool, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays: for every row its active columns, or transposed the rows of events."""
    rows, columns = shape

    def gather(data: Any, indices: Any, indptr: Any, events: Any, *others: Any) -> None:
        *permutation, y, stream = others
        if events.dtype == np.int32:
            events = counted(events, columns, y.dtype, stream)
        term = of_event(event_at_for(events.dtype), weight_for(permutation))
        row_products.gather((data, *permutation), indices, indptr, events, columns, y, stream, term)

    def scatter(data: Any, indices: Any, indptr: Any, events: Any, *others: Any) -> None:
        *permutation, y, stream = others
        clear(y, stream)
        deliver(data, indices, indptr, rows, events, y, stream, permutation=permutation)

    product = numba_cuda_callable(scatter if transpose else gather, outs)
    return lambda data, *others: product(stored_weights(data.reshape(-1), outs.dtype), *others)


@in_fixed_order
def csr_event_matmat(*, outs: Any, shape: tuple[int, int], transpose: bool, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays for one orientation; the longer rows are, the more threads share one."""
    rows, n = shape[0], outs.shape[1]

    def gather(data: Any, indices: Any, indptr: Any, events: Any, *others: Any) -> None:
        *permutation, y, stream = others
        lanes, weight_of = lanes_of(indices.size, rows, WARP), weight_for(permutation)
        term, weights = term_for(events.dtype), launched(data, *permutation)
        kernel = make_gather_events(lanes, term, weight_of, y.dtype, indices.dtype)
        threads = rows * blocks_of(n, WARP) * WARP * lanes
        words = active_words(events, stream)
        kernel[blocks_of(threads), BLOCK, stream](*weights, indices, indptr, words, events, y)

    def scatter(data: Any, indices: Any, indptr: Any, events: Any, *others: Any) -> None:
        *permutation, y, stream = others
        clear(y, stream)
        blocks = blocks_of(rows * blocks_of(n, WARP) * WARP)
        # Long rows are divided where there are too few of them to occupy a GPU.
        parts = min(MAX_PARTS // max(1, blocks), indices.size // max(1, rows) // ENTRIES_PER_PART)
        grid = blocks, max(1, parts)
        kernel, weights = make_event_scatter(weight_for(permutation)), launched(data, *permutation)
        kernel[grid, BLOCK, stream](*weights, indices, indptr, events, y)

    product = numba_cuda_callable(scatter if transpose else gather, outs)
    return lambda data, *others: product(stored_weights(data.reshape(-1), outs.dtype), *others)

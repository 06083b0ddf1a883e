"""Event-driven CSR product with a matrix on a GPU: threads along its columns, or along active rows.

Transposed, a warp reads 32 events of a row and adds the entries of that row for the active ones. If these are
few, each lane has an entry; if many, each has a column, so that a warp adds to neighbours.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numba import cuda

from event_ops.kernels.numba_cuda.access import is_active, is_inside, launched, weight_for
from event_ops.kernels.numba_cuda.by_length import lanes_of
from event_ops.kernels.numba_cuda.fixed_order import in_fixed_order
from event_ops.kernels.numba_cuda.row_products import csr_row
from event_ops.kernels.numba_cuda.threads import BLOCK, WARP, blocks_of, clear, lanes_where
from event_ops.kernels.numba_cuda.tile_products import gather_tiles_with, width_of
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
def scatter_rows_with(weight_of: Any) -> Any:
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
        elif is_active(event):
            k = np.uint64(low + part)
            while k < np.uint64(high):
                j, weight = indices[k], weight_of((data, permutation), k)
                if is_inside(j, y.shape[0]):
                    cuda.atomic.add(y, (np.uint64(j), np.uint64(c)), weight * event)
                k += np.uint64(parts)

    return scatter_rows


@in_fixed_order
def build(*, outs: Any, shape: tuple[int, int], transpose: bool, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays for one orientation; the longer rows are, the more threads share one."""
    rows, n = shape[0], outs.shape[1]

    def gather(data: Any, indices: Any, indptr: Any, events: Any, *others: Any) -> None:
        *permutation, y, stream = others
        width = width_of(n)
        lanes = lanes_of(indices.size, rows, width)
        weight_of = weight_for(permutation)
        kernel = gather_tiles_with(width, lanes, is_active, y.dtype, indices.dtype, weight_of)
        threads = rows * blocks_of(n, width) * width * lanes
        weights = launched(data, *permutation)
        kernel[blocks_of(threads), BLOCK, stream](*weights, indices, indptr, events, y)

    def scatter(data: Any, indices: Any, indptr: Any, events: Any, *others: Any) -> None:
        *permutation, y, stream = others
        clear(y, stream)
        blocks = blocks_of(rows * blocks_of(n, WARP) * WARP)
        parts = min(MAX_PARTS // max(1, blocks), indices.size // max(1, rows) // ENTRIES_PER_PART)
        grid = blocks, max(1, parts)
        kernel, weights = scatter_rows_with(weight_for(permutation)), launched(data, *permutation)
        kernel[grid, BLOCK, stream](*weights, indices, indptr, events, y)

    product = numba_cuda_callable(scatter if transpose else gather, outs)
    return lambda data, *others: product(data.reshape(-1).astype(outs.dtype), *others)

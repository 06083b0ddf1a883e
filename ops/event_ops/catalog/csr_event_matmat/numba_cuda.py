"""Event-driven CSR product with a matrix on a GPU: threads along its columns, or along active rows.

Transposed, a warp looks at 32 events of a row of the matrix and adds up what the active ones meet. Few of
them take the entries a lane each, many a column each, so that what a warp adds to lies side by side.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from numba import cuda

from event_ops.cuda_parts.access import at, bounded, is_active, place
from event_ops.cuda_parts.lanes import lanes_for, sum_over
from event_ops.cuda_parts.launch import BLOCK, FULL, WARP, blocks_of, clear
from ffi_bridge import numba_cuda_callable

DENSE_FROM = 8  # of 32 events
MAX_PARTS = 1024
ENTRIES_PER_PART = 256


@cache
def gather_rows_with(lanes: int) -> Any:
    """The kernel `y[i, c] = sum of data[k] * events[indices[k], c] over row i`; `lanes` threads for each."""
    total_of = sum_over(lanes)

    @cuda.jit
    def gather_rows(data: Any, indices: Any, indptr: Any, events: Any, y: Any) -> None:
        element, lane = cuda.grid(1) // lanes, cuda.grid(1) % lanes
        total = y.dtype.type(0)
        i, c = element // y.shape[1], element % y.shape[1]
        if i < y.shape[0]:
            nse = indices.size
            for k in range(bounded(indptr[i], nse) + lane, bounded(indptr[i + 1], nse), lanes):
                j = place(indices[k], events.shape[0])
                if j >= 0 and is_active(events[j, c]):
                    total += at(data, k) * y.dtype.type(events[j, c])
        total = total_of(total)  # every thread of a warp comes here
        if i < y.shape[0] and lane == 0:
            y[i, c] = total

    return gather_rows


@cuda.jit(device=True)
def add_to_columns(weight: Any, events: Any, i: Any, first: Any, mask: Any, y: Any, j: Any) -> None:
    """y[j, c] += weight * events[i, c] for the columns c that `mask` has, counted from `first`."""
    while mask != 0:
        c = first + cuda.ffs(mask) - 1
        mask &= mask - 1
        cuda.atomic.add(y, (j, c), weight * y.dtype.type(events[i, c]))


@cuda.jit
def scatter_rows(data: Any, indices: Any, indptr: Any, events: Any, y: Any) -> None:
    """y[indices[k], c] += data[k] * events[i, c] over row i: a warp for 32 columns of a part of the row."""
    n, nse, lane = events.shape[1], indices.size, cuda.grid(1) % WARP
    tiles = (n + WARP - 1) // WARP
    i, first = cuda.grid(1) // WARP // tiles, cuda.grid(1) // WARP % tiles * WARP
    c, event = first + lane, y.dtype.type(0)
    if i < events.shape[0] and c < n:
        event = y.dtype.type(events[i, c])
    mask = cuda.ballot_sync(FULL, is_active(event))  # every thread of a warp comes here
    if mask == 0:
        return
    low, high = bounded(indptr[i], nse), bounded(indptr[i + 1], nse)
    part, parts = cuda.blockIdx.y, cuda.gridDim.y
    if cuda.popc(mask) < DENSE_FROM:
        for k in range(low + part * WARP + lane, high, parts * WARP):
            j, weight = place(indices[k], y.shape[0]), at(data, k)
            if j >= 0:
                add_to_columns(weight, events, i, first, mask, y, j)
    elif is_active(event):
        for k in range(low + part, high, parts):
            j, weight = place(indices[k], y.shape[0]), at(data, k)
            if j >= 0:
                cuda.atomic.add(y, (j, c), weight * event)


def generator(*, outs: Any, shape: tuple[int, int], transpose: bool, **_: Any) -> Callable[..., Any]:
    """The callable for one orientation; the mean length of rows decides how many threads share one."""
    rows, n = shape[0], outs.shape[1]

    def gather(data: Any, indices: Any, indptr: Any, events: Any, y: Any, stream: Any) -> None:
        # Beside each other are a row's columns: their events are, too.
        abreast = 1 << max(0, n - 1).bit_length()
        lanes = max(1, min(lanes_for(indices.size, rows, y.dtype), WARP // abreast))
        kernel = gather_rows_with(lanes)
        kernel[blocks_of(y.size * lanes), BLOCK, stream](data, indices, indptr, events, y)

    def scatter(data: Any, indices: Any, indptr: Any, events: Any, y: Any, stream: Any) -> None:
        clear(y, stream)
        blocks = blocks_of(rows * blocks_of(n, WARP) * WARP)
        parts = min(MAX_PARTS // max(1, blocks), indices.size // max(1, rows) // ENTRIES_PER_PART)
        grid = blocks, max(1, parts)
        scatter_rows[grid, BLOCK, stream](data, indices, indptr, events, y)

    product = numba_cuda_callable(scatter if transpose else gather, outs)
    return lambda data, indices, indptr, events: product(data.reshape(-1), indices, indptr, events)

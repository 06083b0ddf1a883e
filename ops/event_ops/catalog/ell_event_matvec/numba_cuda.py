"""Event-driven ELLPACK product on a GPU: rows of the active events, or for every row its active columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from numba import cuda

from event_ops.parts.numba_cuda.access import at, is_inside, number_at, row_of_flag
from event_ops.parts.numba_cuda.by_length import lanes_of
from event_ops.parts.numba_cuda.deliver import note
from event_ops.parts.numba_cuda.fixed_order import ell_in_fixed_order
from event_ops.parts.numba_cuda.row_products import ell_row, gather_rows_with, of_event
from event_ops.parts.numba_cuda.threads import BLOCK, WARP, blocks_of, clear
from ffi_bridge import numba_cuda_callable

ENOUGH_BLOCKS = 1024  # to keep a GPU busy


@cuda.jit
def scatter_active_rows(data: Any, indices: Any, events: Any, y: Any) -> None:
    """y[j] += weight * event for the active of a block's rows, whose entries all its threads share.

    One thread per row along x; the blocks along y take the same rows, and a part of the entries of each.
    """
    noted, count = cuda.shared.array(BLOCK, numba.int64), cuda.shared.array(1, numba.int32)
    thread, per_row = cuda.threadIdx.x, indices.shape[1]
    active = note(row_of_flag(events, cuda.blockIdx.x * BLOCK + thread, events.size), noted, count)
    part = (per_row + cuda.gridDim.y - 1) // cuda.gridDim.y
    for entry in range(thread, active * part, BLOCK):
        i, k = noted[entry // part], cuda.blockIdx.y * part + entry % part
        if k < per_row:
            j = indices[np.uint64(i), np.uint64(k)]
            if is_inside(j, y.size):
                value = y.dtype.type(events[np.uint64(i)])
                cuda.atomic.add(y, np.uint64(j), at(data, i * per_row + k) * value)


@ell_in_fixed_order("csr_event_matvec")
def build(*, outs: Any, shape: tuple[int, int], transpose: bool, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays for one orientation."""
    rows = shape[0]

    def gather(data: Any, indices: Any, events: Any, y: Any, stream: Any) -> None:
        lanes, per_row = lanes_of(indices.size, rows), np.int64(indices.shape[1])
        kernel = gather_rows_with(lanes, ell_row, of_event(number_at), y.dtype)
        kernel[blocks_of(rows * lanes), BLOCK, stream](
            data, indices.ravel(), per_row, events, np.int64(events.size), y
        )

    def scatter(data: Any, indices: Any, events: Any, y: Any, stream: Any) -> None:
        clear(y, stream)
        blocks = blocks_of(rows)
        parts = min(blocks_of(indices.shape[1], WARP), blocks_of(ENOUGH_BLOCKS, max(1, blocks)))
        scatter_active_rows[(blocks, parts), BLOCK, stream](data, indices, events, y)

    product = numba_cuda_callable(scatter if transpose else gather, outs)
    return lambda data, indices, events: product(data.reshape(-1), indices, events)

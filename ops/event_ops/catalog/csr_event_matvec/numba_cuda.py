"""Event-driven CSR product on a GPU: the rows of active events, or for every row its active columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import cuda

from event_ops.kernels.numba_cuda.access import event_at_for, launched, place, weight_for
from event_ops.kernels.numba_cuda.by_length import lanes_of
from event_ops.kernels.numba_cuda.deliver import deliver
from event_ops.kernels.numba_cuda.fixed_order import in_fixed_order
from event_ops.kernels.numba_cuda.row_products import csr_row, gather_rows_with, of_event
from event_ops.kernels.numba_cuda.threads import BLOCK, blocks_of, clear
from ffi_bridge import numba_cuda_callable


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
def build(*, outs: Any, shape: tuple[int, int], transpose: bool, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays for one orientation; the longer rows are, the more threads share one."""
    rows, columns = shape

    def gather(data: Any, indices: Any, indptr: Any, events: Any, *others: Any) -> None:
        *permutation, y, stream = others
        if events.dtype == np.int32:
            events = counted(events, columns, y.dtype, stream)
        lanes = lanes_of(indices.size, rows)
        term = of_event(event_at_for(events.dtype), weight_for(permutation))
        kernel = gather_rows_with(lanes, csr_row, term, y.dtype)
        grid, weights = blocks_of(rows * lanes), launched(data, *permutation)
        kernel[grid, BLOCK, stream](*weights, indices, indptr, events, np.int64(columns), y)

    def scatter(data: Any, indices: Any, indptr: Any, events: Any, *others: Any) -> None:
        *permutation, y, stream = others
        clear(y, stream)
        deliver(data, indices, indptr, rows, events, y, stream, permutation=permutation)

    product = numba_cuda_callable(scatter if transpose else gather, outs)
    return lambda data, *others: product(data.reshape(-1).astype(outs.dtype), *others)

"""Event-driven ELLPACK product on a GPU: rows of the active events, or for every row its active columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from event_ops.kernels.numba_cuda.access import launched, number_at
from event_ops.kernels.numba_cuda.by_length import lanes_of
from event_ops.kernels.numba_cuda.deliver import deliver
from event_ops.kernels.numba_cuda.fixed_order import ell_in_fixed_order
from event_ops.kernels.numba_cuda.row_products import ell_row, gather_rows_with, of_event
from event_ops.kernels.numba_cuda.threads import BLOCK, blocks_of, clear
from ffi_bridge import numba_cuda_callable


@ell_in_fixed_order("csr_event_matvec")
def build(*, outs: Any, shape: tuple[int, int], transpose: bool, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays for one orientation."""
    rows = shape[0]

    def gather(data: Any, indices: Any, events: Any, y: Any, stream: Any) -> None:
        lanes, per_row = lanes_of(indices.size, rows), np.int64(indices.shape[1])
        kernel = gather_rows_with(lanes, ell_row, of_event(number_at), y.dtype)
        kernel[blocks_of(rows * lanes), BLOCK, stream](
            *launched(data), indices.ravel(), per_row, events, np.int64(events.size), y
        )

    def scatter(data: Any, indices: Any, events: Any, y: Any, stream: Any) -> None:
        clear(y, stream)
        deliver(data, indices.ravel(), np.int64(indices.shape[1]), rows, events, y, stream, ell_row)

    product = numba_cuda_callable(scatter if transpose else gather, outs)
    return lambda data, indices, events: product(data.reshape(-1).astype(outs.dtype), indices, events)

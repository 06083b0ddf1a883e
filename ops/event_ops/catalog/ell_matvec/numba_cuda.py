"""ELLPACK matrix times vector on a GPU: as many threads per row as suit its length."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from event_ops.kernels.numba_cuda.access import launched, own
from event_ops.kernels.numba_cuda.by_length import lanes_of
from event_ops.kernels.numba_cuda.fixed_order import ell_in_fixed_order
from event_ops.kernels.numba_cuda.row_products import ell_row, gather_rows_with, of_number, scatter_rows_with
from event_ops.kernels.numba_cuda.scatter import adding_callable
from event_ops.kernels.numba_cuda.threads import BLOCK, blocks_of, clear
from ffi_bridge import numba_cuda_callable


@ell_in_fixed_order("csr_matvec")
def build(*, outs: Any, shape: tuple[int, int], transpose: bool, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays for one orientation; the longer rows are, the more threads share one."""
    rows = shape[0]

    def gather(data: Any, indices: Any, v: Any, y: Any, stream: Any) -> None:
        lanes, per_row = lanes_of(indices.size, rows), np.int64(indices.shape[1])
        kernel = gather_rows_with(lanes, ell_row, of_number(own), y.dtype)
        kernel[blocks_of(rows * lanes), BLOCK, stream](
            *launched(data.ravel()), indices.ravel(), per_row, v, np.int64(v.size), y
        )

    def scatter(data: Any, indices: Any, v: Any, y: Any, stream: Any) -> None:
        clear(y, stream)
        lanes, per_row = lanes_of(indices.size, rows), np.int64(indices.shape[1])
        kernel = scatter_rows_with(lanes, ell_row, own, y.dtype)
        kernel[blocks_of(rows * lanes), BLOCK, stream](data.ravel(), indices.ravel(), per_row, v, y)

    product = adding_callable(scatter, outs) if transpose else numba_cuda_callable(gather, outs)
    return lambda data, indices, v: product(data.astype(outs.dtype), indices, v)

"""CSR matrix times vector on a GPU: as many threads per row as suit its length."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from event_ops.kernels.numba_cuda.access import element_of, launched
from event_ops.kernels.numba_cuda.by_length import lanes_of
from event_ops.kernels.numba_cuda.fixed_order import in_fixed_order
from event_ops.kernels.numba_cuda.row_products import csr_row, gather_rows_with, of_number, scatter_rows_with
from event_ops.kernels.numba_cuda.scatter import adding_callable
from event_ops.kernels.numba_cuda.threads import BLOCK, blocks_of, clear
from ffi_bridge import numba_cuda_callable


@in_fixed_order
def build(*, outs: Any, shape: tuple[int, int], transpose: bool, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays for one orientation; the longer rows are, the more threads share one."""
    rows = shape[0]

    def gather(data: Any, indices: Any, indptr: Any, v: Any, y: Any, stream: Any) -> None:
        lanes = lanes_of(indices.size, rows)
        kernel = gather_rows_with(lanes, csr_row, of_number(element_of(data)), y.dtype)
        kernel[blocks_of(rows * lanes), BLOCK, stream](
            *launched(data), indices, indptr, v, np.int64(v.size), y
        )

    def scatter(data: Any, indices: Any, indptr: Any, v: Any, y: Any, stream: Any) -> None:
        clear(y, stream)
        lanes = lanes_of(indices.size, rows)
        kernel = scatter_rows_with(lanes, csr_row, element_of(data), y.dtype)
        kernel[blocks_of(rows * lanes), BLOCK, stream](data, indices, indptr, v, y)

    product = adding_callable(scatter, outs) if transpose else numba_cuda_callable(gather, outs)
    return lambda data, indices, indptr, v: product(data.reshape(-1).astype(outs.dtype), indices, indptr, v)

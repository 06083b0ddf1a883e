"""CSR matrix times vector on a GPU: a few threads per row, as many as suit the mean length of rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from event_ops.cuda_parts.lanes import lanes_for
from event_ops.cuda_parts.launch import BLOCK, blocks_of, clear
from event_ops.cuda_parts.row_products import csr_row, gather_rows_with, of_number, scatter_rows_with
from ffi_bridge import numba_cuda_callable


def generator(*, outs: Any, shape: tuple[int, int], transpose: bool, **_: Any) -> Callable[..., Any]:
    """The callable for one orientation; the mean length of rows decides how many threads share one."""
    rows = shape[0]

    def gather(data: Any, indices: Any, indptr: Any, v: Any, y: Any, stream: Any) -> None:
        lanes = lanes_for(indices.size, rows, y.dtype)
        kernel = gather_rows_with(lanes, csr_row, of_number)
        kernel[blocks_of(rows * lanes), BLOCK, stream](data, indices, indptr, v, np.int64(v.size), y)

    def scatter(data: Any, indices: Any, indptr: Any, v: Any, y: Any, stream: Any) -> None:
        clear(y, stream)
        lanes = lanes_for(indices.size, rows, y.dtype)
        kernel = scatter_rows_with(lanes, csr_row)
        kernel[blocks_of(rows * lanes), BLOCK, stream](data, indices, indptr, v, y)

    return numba_cuda_callable(scatter if transpose else gather, outs)

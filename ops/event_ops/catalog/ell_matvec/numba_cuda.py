"""ELLPACK matrix times vector on a GPU: a few threads per row, as many as suit its length."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from event_ops.cuda_parts.lanes import lanes_for
from event_ops.cuda_parts.launch import BLOCK, blocks_of, clear
from event_ops.cuda_parts.row_products import ell_row, gather_rows_with, of_number, scatter_rows_with
from ffi_bridge import numba_cuda_callable


def generator(*, outs: Any, shape: tuple[int, int], transpose: bool, **_: Any) -> Callable[..., Any]:
    """The callable for one orientation; the length of rows decides how many threads share one."""
    rows = shape[0]

    def gather(data: Any, indices: Any, v: Any, y: Any, stream: Any) -> None:
        lanes, per_row = lanes_for(indices.size, rows, y.dtype), np.int64(indices.shape[1])
        kernel = gather_rows_with(lanes, ell_row, of_number)
        kernel[blocks_of(rows * lanes), BLOCK, stream](
            data.ravel(), indices.ravel(), per_row, v, np.int64(v.size), y
        )

    def scatter(data: Any, indices: Any, v: Any, y: Any, stream: Any) -> None:
        clear(y, stream)
        lanes, per_row = lanes_for(indices.size, rows, y.dtype), np.int64(indices.shape[1])
        kernel = scatter_rows_with(lanes, ell_row)
        kernel[blocks_of(rows * lanes), BLOCK, stream](data.ravel(), indices.ravel(), per_row, v, y)

    return numba_cuda_callable(scatter if transpose else gather, outs)

"""Scaling the rows of a CSR matrix on a GPU: as many threads per row as suit its length."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numba import cuda

from event_ops.kernels.numba_cuda.by_length import begin_with, clear_outside, lanes_of, rows_with
from event_ops.kernels.numba_cuda.row_products import csr_row
from event_ops.kernels.numba_cuda.threads import BLOCK, OCCUPIED, blocks_of
from ffi_bridge import numba_cuda_callable


@cuda.jit(device=True)
def by_number(data: Any, k: Any, x: Any) -> Any:
    """Return data[k] * x."""
    return data[k] * x


@cuda.jit(device=True)
def by_event(data: Any, k: Any, x: Any) -> Any:
    """Return data[k], which is only read where x is True, or 0."""
    return data[k] if x else data.dtype.type(0)


@cache
def scale_rows_with(lanes: int, scaled: Any) -> Any:
    """Return the kernel out[k] = scaled(data, k, x[i]) over row i; mostly by `lanes` threads."""

    def take_with(lanes: int) -> Any:
        begin = begin_with(lanes)

        @cuda.jit(device=True)
        def take(operands: Any, i: Any, low: Any, high: Any, lane: Any, mine: Any) -> None:
            data, x, out = operands
            if mine:
                factor, k = x[np.uint64(i)], begin(low) + lane
                while k < high:
                    if k >= low:
                        out[np.uint64(k)] = scaled(data, np.uint64(k), factor)
                    k += lanes

        return take

    take_rows = rows_with(1, lanes, csr_row, take_with)

    @cuda.jit(launch_bounds=OCCUPIED)
    def scale_rows(data: Any, indptr: Any, x: Any, out: Any) -> None:
        take_rows((data, x, out), indptr, out.size, x.size)

    return scale_rows


def build(*, outs: Any, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays."""

    def scale(data: Any, indptr: Any, x: Any, out: Any, stream: Any) -> None:
        clear_outside(indptr, out, stream)
        lanes = lanes_of(out.size, x.size)
        kernel = scale_rows_with(lanes, by_event if x.dtype == bool else by_number)
        kernel[blocks_of(x.size * lanes), BLOCK, stream](data, indptr, x, out)

    return numba_cuda_callable(scale, outs)

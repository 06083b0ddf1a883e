"""CSR matrix times dense matrix on the CPU: a gather of rows of B, or for the transpose a scatter of them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numba import prange

from event_ops.kernels.numba_cpu.jit import njit
from event_ops.kernels.numba_cpu.matmat import (
    gather_kernels,
    is_large,
    over_rows,
    scatter_row_with,
    widths_of,
)
from event_ops.kernels.numba_cpu.simd import add_product
from event_ops.kernels.numba_cpu.split import add_up, clear, first_row, parts_for, private
from ffi_bridge import numba_kernel


@cache
def scatter_kernels(widths: tuple[int, ...]) -> tuple[Any, Any]:
    """Return the kernels of Y = A.T @ B for one thread and for all."""
    scatter_rows = over_rows(scatter_row_with(add_product, widths))

    @njit
    def matmat_transposed(data: Any, indices: Any, indptr: Any, B: Any, y: Any) -> None:
        clear(y)
        scatter_rows(data, indices, indptr, B, y, 0, indptr.size - 1)

    @njit(parallel=True)
    def matmat_transposed_parallel(data: Any, indices: Any, indptr: Any, B: Any, y: Any) -> None:
        parts = parts_for(indices.size * y.shape[1], y.size)
        spare = np.empty((parts - 1, *y.shape), y.dtype)
        for part in prange(parts):
            mine = private(y, spare, part)
            clear(mine)
            low, high = first_row(indptr, part, parts), first_row(indptr, part + 1, parts)
            scatter_rows(data, indices, indptr, B, mine, low, high)
        add_up(spare, y)

    return matmat_transposed, matmat_transposed_parallel


def build(*, outs: Any, transpose: bool, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays for one orientation: on one thread, or on all for many terms."""

    def call(data: Any, indices: Any, indptr: Any, B: Any) -> Any:
        widths = widths_of(B.shape[1])
        serial, parallel = scatter_kernels(widths) if transpose else gather_kernels(add_product, widths)
        kernel = parallel if is_large(indices.size, B.shape[1]) else serial
        return numba_kernel(kernel, outs)(data, indices, indptr, B)

    return call

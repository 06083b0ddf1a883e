"""CSR matrix times dense matrix on the CPU: a gather of rows of B, or for the transpose a scatter of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import get_num_threads, njit, prange

from event_ops.numba_parts.flags import REORDER
from event_ops.numba_parts.matmat import gather_rows_with, is_large
from event_ops.numba_parts.split import add_up, clear, first_row, parts_for, private
from ffi_bridge import numba_kernel


@njit
def product(weight: Any, value: Any) -> Any:
    return weight * value


gather_rows = gather_rows_with(product)


@njit(fastmath=REORDER)
def scatter_rows(data: Any, indices: Any, indptr: Any, B: Any, y: Any, low: int, high: int) -> None:
    """y[indices[k]] += data[k] * B[i] over row i, for the rows from `low` to `high`."""
    nse, columns = np.uintp(data.size), np.uintp(y.shape[0])
    for i in range(np.uintp(low), np.uintp(high)):
        for k in range(min(np.uintp(indptr[i]), nse), min(np.uintp(indptr[i + np.uintp(1)]), nse)):
            j = np.uintp(indices[k])
            if j < columns:
                weight = data[k]
                for c in range(np.uintp(y.shape[1])):
                    y[j, c] += weight * B[i, c]


@njit
def matmat(data: Any, indices: Any, indptr: Any, B: Any, y: Any) -> None:
    gather_rows(data, indices, indptr, B, y, 0, indptr.size - 1)


@njit(parallel=True)
def matmat_parallel(data: Any, indices: Any, indptr: Any, B: Any, y: Any) -> None:
    parts = get_num_threads()
    for part in prange(parts):
        low, high = first_row(indptr, part, parts), first_row(indptr, part + 1, parts)
        gather_rows(data, indices, indptr, B, y, low, high)


@njit
def matmat_transposed(data: Any, indices: Any, indptr: Any, B: Any, y: Any) -> None:
    clear(y)
    scatter_rows(data, indices, indptr, B, y, 0, indptr.size - 1)


@njit(parallel=True)
def matmat_transposed_parallel(data: Any, indices: Any, indptr: Any, B: Any, y: Any) -> None:
    parts = parts_for(data.size * y.shape[1], y.size)
    spare = np.empty((parts - 1, *y.shape), y.dtype)
    for part in prange(parts):
        mine = private(y, spare, part)
        clear(mine)
        low, high = first_row(indptr, part, parts), first_row(indptr, part + 1, parts)
        scatter_rows(data, indices, indptr, B, mine, low, high)
    add_up(spare, y)


# (transposed, large) -> kernel
KERNELS = {
    (False, False): matmat,
    (False, True): matmat_parallel,
    (True, False): matmat_transposed,
    (True, True): matmat_transposed_parallel,
}


def generator(*, outs: Any, transpose: bool, **_: Any) -> Callable[..., Any]:
    """The callable for one orientation; the number of terms decides between one thread and all."""

    def call(data: Any, indices: Any, indptr: Any, B: Any) -> Any:
        kernel = KERNELS[transpose, is_large(indices.size, B.shape[1])]
        return numba_kernel(kernel, outs)(data, indices, indptr, B)

    return call

"""CSR to CSC on a GPU by a stable radix sort; CSR to dense by a few threads for each row."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numba import cuda

from event_ops.kernels.numba_cuda.access import at, place, row_of_entry, search_range, upper_bound
from event_ops.kernels.numba_cuda.radix_sort import passes_of, radix_sort
from event_ops.kernels.numba_cuda.row_products import csr_row
from event_ops.kernels.numba_cuda.threads import BLOCK, blocks_of, clear, lanes_for
from ffi_bridge import numba_cuda_callable

ENTRIES = 8 * BLOCK  # of a block, which looks up their rows


@cuda.jit
def look_up(indices: Any, indptr: Any, columns: Any, row: Any, column: Any, position: Any) -> None:
    """Write the row, column and position of every entry; `rows` or `columns` stand for none."""
    first, rows = cuda.blockIdx.x * ENTRIES, indptr.size - 1
    end = min(first + ENTRIES, indices.size)
    low, high = search_range(indptr, first, end)
    for k in range(first + cuda.threadIdx.x, end, BLOCK):
        i, j = row_of_entry(indptr, k, low, high), place(indices[k], columns)
        row[k] = i if i >= 0 else rows
        column[k] = j if i >= 0 and j >= 0 else columns
        position[k] = k


@cuda.jit
def gather(row: Any, permutation: Any, csc_indices: Any) -> None:
    """csc_indices = row[permutation]."""
    p = cuda.grid(1)
    if p < csc_indices.size:
        csc_indices[p] = row[permutation[p]]


@cuda.jit
def find_starts(column: Any, csc_indptr: Any) -> None:
    """csc_indptr[j] = the number of sorted columns that are less than j."""
    j = cuda.grid(1)
    if j < csc_indptr.size:
        csc_indptr[j] = upper_bound(column, j - 1, 0, column.size)


def csr_tocsc(*, outs: Any, shape: tuple[int, int], **_: Any) -> Callable[..., Any]:
    """Return the function of arrays; keys have as many bits as the number of columns."""
    columns = shape[1]
    bits = columns.bit_length()
    kind = np.int32 if max(shape) <= np.iinfo(np.int32).max else np.int64

    def tocsc(
        indices: Any, indptr: Any, csc_indices: Any, csc_indptr: Any, permutation: Any, stream: Any
    ) -> None:
        nse = indices.size
        row = cuda.device_array(nse, dtype=kind)
        column, spare = cuda.device_array(nse, dtype=kind), cuda.device_array(nse, dtype=kind)
        buffers = (column, permutation), (spare, cuda.device_array(nse, dtype=permutation.dtype))
        look_up[blocks_of(nse, ENTRIES), BLOCK, stream](
            indices, indptr, columns, row, *buffers[passes_of(bits) % 2]
        )
        radix_sort(buffers, bits, stream)
        gather[blocks_of(nse), BLOCK, stream](row, permutation, csc_indices)
        find_starts[blocks_of(csc_indptr.size), BLOCK, stream](column, csc_indptr)

    return numba_cuda_callable(tocsc, outs)


@cuda.jit(device=True)
def add_alone(D: Any, i: Any, j: Any, weight: Any) -> None:
    """D[i, j] += weight where one thread has all of row i; for any dtype."""
    D[i, j] += weight


@cuda.jit(device=True)
def add_among(D: Any, i: Any, j: Any, weight: Any) -> None:
    """D[i, j] += weight where several threads share row i."""
    cuda.atomic.add(D, (i, j), weight)


@cache
def add_rows_with(lanes: int) -> Any:
    """Return the kernel `D[i, indices[k]] += data[k]` over row i; `lanes` threads per row."""
    add = add_alone if lanes == 1 else add_among

    @cuda.jit
    def add_rows(data: Any, indices: Any, indptr: Any, D: Any) -> None:
        i, lane = cuda.grid(1) // lanes, cuda.grid(1) % lanes
        if i < D.shape[0]:
            low, high = csr_row(indptr, i, indices.size)
            for k in range(low + lane, high, lanes):
                j = place(indices[k], D.shape[1])
                if j >= 0:
                    add(D, i, j, at(data, k))

    return add_rows


def csr_todense(*, outs: Any, deterministic: bool = False, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays; the longer rows are, the more threads share one."""
    rows = outs.shape[0]

    def todense(data: Any, indices: Any, indptr: Any, D: Any, stream: Any) -> None:
        clear(D, stream)
        lanes = 1 if deterministic else lanes_for(indices.size, rows, D.dtype)
        add_rows_with(lanes)[blocks_of(rows * lanes), BLOCK, stream](data, indices, indptr, D)

    run = numba_cuda_callable(todense, outs)
    return lambda data, indices, indptr: run(data.reshape(-1).astype(outs.dtype), indices, indptr)

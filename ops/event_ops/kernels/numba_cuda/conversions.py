"""CSR to CSC on a GPU by a radix sort; CSR to dense by a few threads for each row."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numba import cuda

from event_ops.kernels.numba_cuda.access import at, place, row_of_entry, search_range, upper_bound
from event_ops.kernels.numba_cuda.radix_sort import sort_by_column
from event_ops.kernels.numba_cuda.row_products import csr_row
from event_ops.kernels.numba_cuda.threads import BLOCK, blocks_of, clear, lanes_for
from ffi_bridge import numba_cuda_callable

ENTRIES = 8 * BLOCK  # of a block, which looks up their rows


@cuda.jit
def look_up(indices: Any, indptr: Any, columns: Any, row: Any, column: Any) -> None:
    """Write the row and column of every entry; `rows` or `columns` stand for none."""
    first, rows = cuda.blockIdx.x * ENTRIES, indptr.size - 1
    end = min(first + ENTRIES, indices.size)
    # The rows of a block's entries are few: each thread searches among these alone.
    low, high = search_range(indptr, first, end)
    for k in range(first + cuda.threadIdx.x, end, BLOCK):
        i, j = row_of_entry(indptr, k, low, high), place(indices[k], columns)
        row[k] = i if i >= 0 else rows
        column[k] = j if i >= 0 and j >= 0 else columns


@cuda.jit
def find_starts(column: Any, csc_indptr: Any) -> None:
    """csc_indptr[j] = how many of the sorted columns are less than j."""
    j = cuda.grid(1)
    if j < csc_indptr.size:
        csc_indptr[j] = upper_bound(column, j - 1, 0, column.size)


def csr_tocsc(*, outs: Any, shape: tuple[int, int], **_: Any) -> Callable[..., Any]:
    """Return the function of arrays; the entries are sorted by column."""
    columns, (size,) = shape[1], outs[0].shape
    kind = np.int32 if max(*shape, size) <= np.iinfo(np.int32).max else np.int64

    def tocsc(
        indices: Any, indptr: Any, csc_indices: Any, csc_indptr: Any, permutation: Any, stream: Any
    ) -> None:
        row, column = cuda.device_array(size, kind), cuda.device_array(size, kind)
        look_up[blocks_of(size, ENTRIES), BLOCK, stream](indices, indptr, columns, row, column)
        in_order = sort_by_column(column, row, columns, (csc_indices, permutation), stream)
        find_starts[blocks_of(csc_indptr.size), BLOCK, stream](in_order, csc_indptr)

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
def make_add_rows(lanes: int) -> Any:
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
        # A single thread adds entries of one place in their order.
        lanes = 1 if deterministic else lanes_for(indices.size, rows, D.dtype)
        make_add_rows(lanes)[blocks_of(rows * lanes), BLOCK, stream](data, indices, indptr, D)

    run = numba_cuda_callable(todense, outs)
    return lambda data, indices, indptr: run(data.reshape(-1).astype(outs.dtype), indices, indptr)

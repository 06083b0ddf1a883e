"""CSR to CSC on a GPU by a radix sort; CSR to dense by a few threads for each row."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numba import cuda

from event_ops.kernels.numba_cuda.access import at, bounded, is_inside, place, upper_bound
from event_ops.kernels.numba_cuda.by_length import (
    CLEARING,
    ahead_of,
    lanes_of,
    make_begin,
    make_take_rows,
    reach,
    within,
)
from event_ops.kernels.numba_cuda.radix_sort import sort_by_column
from event_ops.kernels.numba_cuda.row_products import csr_row
from event_ops.kernels.numba_cuda.threads import BLOCK, OCCUPIED, blocks_of, clear, lanes_for
from ffi_bridge import numba_cuda_callable


@cache
def make_note_places(lanes: int, ahead: int, kind: Any) -> Any:
    """Return the kernel that writes row and column of the entries of rows, `columns` for one out of range."""

    def make_take(lanes: int) -> Any:
        begin = make_begin(lanes)

        @cuda.jit(device=True)
        def take(operands: Any, i: Any, low: Any, high: Any, lane: Any, mine: Any) -> None:
            indices, columns, row, column = operands
            js = cuda.local.array(ahead, kind)
            if mine and low < high:
                k = begin(low) + lane
                while k - lane < high:
                    reached = reach(k, low, high)
                    for n in range(ahead):
                        j = indices[np.uint64(k + within(n * lanes, reached))]
                        js[n] = kind(j) if is_inside(j, columns) else kind(columns)
                    for n in range(ahead):
                        if within(n * lanes, reached) == n * lanes:
                            here = np.uint64(k + n * lanes)
                            column[here], row[here] = js[n], kind(i)
                    k += ahead * lanes

        return take

    take_rows = make_take_rows(1, lanes, csr_row, make_take)

    @cuda.jit(launch_bounds=OCCUPIED)
    def note_places(indices: Any, indptr: Any, columns: Any, row: Any, column: Any) -> None:
        take_rows((indices, columns, row, column), indptr, indices.size, indptr.size - 1)

    return note_places


@cuda.jit
def note_outside(indptr: Any, columns: Any, row: Any, column: Any) -> None:
    """row[k] = rows and column[k] = columns for the entries that indptr does not span."""
    begin = bounded(indptr[0], row.size)
    behind = max(begin, bounded(indptr[indptr.size - 1], row.size))
    outside = begin + row.size - behind
    for n in range(cuda.grid(1), outside, cuda.gridsize(1)):
        k = n if n < begin else n - begin + behind
        row[k] = indptr.size - 1
        column[k] = columns


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
        rows, lanes = indptr.size - 1, lanes_of(size, indptr.size - 1)
        note_outside[CLEARING, BLOCK, stream](indptr, columns, row, column)
        kernel = make_note_places(lanes, ahead_of(size, rows * lanes), kind)
        kernel[blocks_of(rows * lanes), BLOCK, stream](indices, indptr, columns, row, column)
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

"""Products of a sparse matrix with a vector on a GPU: a few threads per row, for CSR and ELLPACK alike.

A format is a device function that gives the entries of a row; what an entry adds is another.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numba import cuda

from event_ops.cuda_parts.access import at, bounded, is_active, place
from event_ops.cuda_parts.lanes import sum_over


@cuda.jit(device=True)
def csr_row(indptr: Any, i: Any, nse: Any) -> Any:
    """Where the entries of row i begin and end."""
    return bounded(indptr[i], nse), bounded(indptr[i + 1], nse)


@cuda.jit(device=True)
def ell_row(per_row: Any, i: Any, nse: Any) -> Any:
    """The same where every row has `per_row` of them."""
    return np.int64(i * per_row), np.int64((i + 1) * per_row)


@cuda.jit(device=True)
def of_number(data: Any, k: Any, v: Any, j: Any) -> Any:
    """What entry k adds of a vector."""
    return data[k] * v[j]


@cache
def of_event(event_of: Any) -> Any:
    """The device function for what entry k adds of events; weights of silent columns are not even read."""

    @cuda.jit(device=True)
    def term(data: Any, k: Any, events: Any, j: Any) -> Any:
        event = event_of(events, j)
        return at(data, k) * data.dtype.type(event) if is_active(event) else data.dtype.type(0)

    return term


@cache
def gather_rows_with(lanes: int, row_of: Any, term: Any) -> Any:
    """The kernel `y[i] = sum of term(data, k, x, indices[k]) over row i`; `lanes` threads per row.

    `structure` is what `row_of` reads; x has `columns` elements.
    """
    total_of = sum_over(lanes)

    @cuda.jit
    def gather_rows(data: Any, indices: Any, structure: Any, x: Any, columns: Any, y: Any) -> None:
        i, lane = cuda.grid(1) // lanes, cuda.grid(1) % lanes
        total = y.dtype.type(0)
        if i < y.size:
            low, high = row_of(structure, i, indices.size)
            for k in range(low + lane, high, lanes):
                j = place(indices[k], columns)
                if j >= 0:
                    total += term(data, k, x, j)
        total = total_of(total)  # every thread of a warp comes here
        if i < y.size and lane == 0:
            y[i] = total

    return gather_rows


@cache
def scatter_rows_with(lanes: int, row_of: Any) -> Any:
    """The kernel `y[indices[k]] += data[k] * v[i]` over row i; `lanes` threads per row."""

    @cuda.jit
    def scatter_rows(data: Any, indices: Any, structure: Any, v: Any, y: Any) -> None:
        i, lane = cuda.grid(1) // lanes, cuda.grid(1) % lanes
        if i < v.size:
            value = v[i]
            low, high = row_of(structure, i, indices.size)
            for k in range(low + lane, high, lanes):
                j = place(indices[k], y.size)
                if j >= 0:
                    cuda.atomic.add(y, j, data[k] * value)

    return scatter_rows

"""Products of a CSR matrix with a dense matrix on a GPU: neighbouring threads take neighbouring columns.

Columns are in tiles of `width`. An element, which threads take together, is a tile of a row.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numba import cuda, from_dtype

from event_ops.parts.numba_cuda.access import is_inside
from event_ops.parts.numba_cuda.by_length import rows_with
from event_ops.parts.numba_cuda.row_products import csr_row
from event_ops.parts.numba_cuda.scatter import add_for
from event_ops.parts.numba_cuda.threads import (
    ROOMY,
    WARP,
    WARPS,
    next_power_of_two,
    sum_dtype,
    sum_over_team,
)


def width_of(columns: int) -> int:
    """Return how many columns a tile has: a power of two, at most a warp."""
    return next_power_of_two(columns, WARP)


@cache
def tiles_of(width: int) -> Any:
    """Return the device function that gives the number of tiles for so many columns."""
    return cuda.jit(device=True)(lambda columns: (columns + width - 1) // width)


@cache
def row_with(width: int) -> Any:
    """Return the device function that gives where the entries of an element begin and end."""
    tiles = tiles_of(width)

    @cuda.jit(device=True)
    def row_of(structure: Any, element: Any, nse: Any) -> Any:
        indptr, columns = structure
        return csr_row(indptr, element // tiles(columns), nse)

    return row_of


@cache
def place_with(width: int) -> Any:
    """Return the device function that gives a thread of an element its row, column and first entry."""
    tiles = tiles_of(width)

    @cuda.jit(device=True)
    def place_of(element: Any, thread: Any, columns: Any) -> Any:
        count = tiles(columns)
        i = element // count
        return i, (element - i * count) * width + thread % width, thread // width

    return place_of


@cache
def gather_tiles_with(width: int, lanes: int, term: Any, dtype: Any) -> Any:
    """Return the kernel `y[i, c] = sum of term(data, k, B, (indices[k], c)) over row i`; y is of `dtype`."""
    sums, place_of = sum_dtype(dtype), place_with(width)
    number, shared, shape = sums.type, from_dtype(sums), WARPS * width

    def take_with(lanes: int) -> Any:
        total_of = sum_over_team(lanes, width, sums.kind)

        @cuda.jit(device=True)
        def take(operands: Any, element: Any, low: Any, high: Any, thread: Any, mine: Any) -> None:
            data, indices, B, y, of_warp = operands
            i, c, lane = place_of(element, thread, y.shape[1])
            inside, total = mine and c < y.shape[1], number(0)
            if inside:
                k = np.uint64(low + lane)
                while k < np.uint64(high):
                    j = indices[k]
                    if is_inside(j, B.shape[0]):
                        total = number(total + number(term(data, k, B, (np.uint64(j), np.uint64(c)))))
                    k += np.uint64(lanes)
            total = total_of(total, of_warp)
            if inside and lane == 0:
                y[np.uint64(i), np.uint64(c)] = y.dtype.type(total)

        return take

    take_tiles, tiles = rows_with(width, lanes, row_with(width), take_with), tiles_of(width)

    @cuda.jit(launch_bounds=ROOMY)
    def gather_tiles(data: Any, indices: Any, indptr: Any, B: Any, y: Any) -> None:
        of_warp = cuda.shared.array(shape, shared)
        count = y.shape[0] * tiles(y.shape[1])
        take_tiles((data, indices, B, y, of_warp), (indptr, y.shape[1]), indices.size, count)

    return gather_tiles


@cache
def scatter_tiles_with(width: int, lanes: int, dtype: Any) -> Any:
    """Return the kernel `y[indices[k], c] += data[k] * B[i, c]` over row i; y is of `dtype`."""
    add, place_of = add_for(dtype), place_with(width)

    def take_with(lanes: int) -> Any:
        @cuda.jit(device=True)
        def take(operands: Any, element: Any, low: Any, high: Any, thread: Any, mine: Any) -> None:
            data, indices, B, y = operands
            i, c, lane = place_of(element, thread, y.shape[1])
            if mine and c < y.shape[1]:
                value, k = B[np.uint64(i), np.uint64(c)], np.uint64(low + lane)
                while k < np.uint64(high):
                    j = indices[k]
                    if is_inside(j, y.shape[0]):
                        add(y, (np.uint64(j), np.uint64(c)), data[k] * value)
                    k += np.uint64(lanes)

        return take

    take_tiles, tiles = rows_with(width, lanes, row_with(width), take_with), tiles_of(width)

    @cuda.jit(launch_bounds=ROOMY)
    def scatter_tiles(data: Any, indices: Any, indptr: Any, B: Any, y: Any) -> None:
        count = B.shape[0] * tiles(y.shape[1])
        take_tiles((data, indices, B, y), (indptr, y.shape[1]), indices.size, count)

    return scatter_tiles

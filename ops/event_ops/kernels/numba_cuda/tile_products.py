"""Products of a CSR matrix with a dense matrix on a GPU: neighbouring threads take neighbouring columns.

Columns are in tiles of `width`. An element, which threads take together, is a tile of a row. Each of its
threads reads another entry of the row, in whole sectors, and they hand them round by shuffles.
"""

from functools import cache
from typing import Any

import numpy as np
from numba import cuda, from_dtype

from event_ops.kernels.numba_cuda.access import place, weight_in_order
from event_ops.kernels.numba_cuda.by_length import make_begin, make_take_rows
from event_ops.kernels.numba_cuda.combine import add_for
from event_ops.kernels.numba_cuda.row_products import csr_row
from event_ops.kernels.numba_cuda.threads import (
    FULL,
    ROOMY,
    WARP,
    WARPS,
    from_lane_for,
    next_power_of_two,
    sum_dtype,
    sum_over_team,
)


def width_of(columns: int) -> int:
    """Return how many columns a tile has: a power of two, at most a warp."""
    return next_power_of_two(columns, WARP)


@cache
def tiles_of(width: int) -> Any:
    """Return the device function that gives the number of tiles of all columns."""
    return cuda.jit(device=True)(lambda columns: (columns + width - 1) // width)


@cache
def make_row_of(width: int) -> Any:
    """Return the device function that gives where the entries of an element begin and end."""
    tiles = tiles_of(width)

    @cuda.jit(device=True)
    def row_of(structure: Any, element: Any, nse: Any) -> Any:
        indptr, columns = structure
        return csr_row(indptr, element // tiles(columns), nse)

    return row_of


@cache
def make_place_of(width: int) -> Any:
    """Return the device function that gives a thread of an element its row and column."""
    tiles = tiles_of(width)

    @cuda.jit(device=True)
    def place_of(element: Any, thread: Any, columns: Any) -> Any:
        count = tiles(columns)
        i = element // count
        return i, (element - i * count) * width + thread % width

    return place_of


@cache
def make_over_entries(
    width: int, lanes: int, visit: Any, dtype: Any, index_dtype: Any, weight_of: Any
) -> Any:
    """Return `f(operands, low, high, size, thread, c, value)`, which the threads of an element call together.

    It sets `value` to `visit(operands, indices[k], weight, c, value)` for the entries k of this thread among
    those from `low` up to `high`, where indices[k] is in [0, size), and returns the last one. `operands`
    begin with weights, of which `weight_of` gives that of entry k, and indices.
    """
    team = width * lanes
    share = min(team, WARP)  # the threads that hand round what each has read
    at_once, begin, from_lane = share // width, make_begin(team), from_lane_for(dtype)
    number = sum_dtype(dtype).type
    # A shuffle moves 32 bits: a wider index takes two.
    index = np.int32 if np.can_cast(index_dtype, np.int32) else np.int64

    @cuda.jit(device=True)
    def over_entries(operands: Any, low: Any, high: Any, size: Any, thread: Any, c: Any, value: Any) -> Any:
        weights, indices = operands[0], operands[1]
        mine = np.int32(thread) % np.int32(share)
        first = np.int32(cuda.laneid) - mine
        # Only the threads of this element call a shuffle together: others of the warp may be elsewhere.
        mask = np.uint32(np.uint32(FULL >> (WARP - share)) << np.uint32(first))
        source = first + mine // np.int32(width)
        begun = begin(low) + thread - mine
        while begun < high:
            k = begun + mine
            # Threads beyond the row hand round -1, which nobody visits.
            j, weight = index(-1), number(0)
            if low <= k < high:
                j, weight = index(place(indices[np.uint64(k)], size)), number(weight_of(weights, k))
            step, count = np.int32(0), np.int32(min(high - begun, share))
            while step < count:
                column = cuda.shfl_sync(mask, j, source + step)
                factor = from_lane(mask, weight, source + step)
                if column >= 0:
                    value = visit(operands, np.uint64(column), factor, c, value)
                step += np.int32(at_once)
            begun += team
        return value

    return over_entries


@cache
def make_gather_tiles(
    width: int, lanes: int, counts: Any, dtype: Any, index_dtype: Any, weight_of: Any = weight_in_order
) -> Any:
    """Return the kernel `y[i, c] = sum of weight k * B[indices[k], c] over row i`, of the B that count.

    y is of `dtype`; the device function `counts` tells which numbers do. Weights are `launched`.
    """
    sums, place_of = sum_dtype(dtype), make_place_of(width)
    number, shared, shape = sums.type, from_dtype(sums), WARPS * width

    @cuda.jit(device=True)
    def add_term(operands: Any, j: Any, weight: Any, c: Any, total: Any) -> Any:
        x = operands[2][j, c]
        return number(total + number(weight * number(x))) if counts(x) else total

    def make_take(lanes: int) -> Any:
        total_of = sum_over_team(lanes, width, sums.kind)
        over_entries = make_over_entries(width, lanes, add_term, dtype, index_dtype, weight_of)

        @cuda.jit(device=True)
        def take(operands: Any, element: Any, low: Any, high: Any, thread: Any, mine: Any) -> None:
            B, y, of_warp = operands[2:]
            (i, c), total = place_of(element, thread, y.shape[1]), number(0)
            if mine:
                near = np.uint64(min(c, y.shape[1] - 1))  # for threads beyond the last column, too
                total = over_entries(operands, low, high, B.shape[0], thread, near, total)
            total = total_of(total, of_warp)
            if mine and thread < width and c < y.shape[1]:
                y[np.uint64(i), np.uint64(c)] = y.dtype.type(total)

        return take

    take_tiles, tiles = make_take_rows(width, lanes, make_row_of(width), make_take), tiles_of(width)

    @cuda.jit(launch_bounds=ROOMY)
    def gather_tiles(data: Any, permutation: Any, indices: Any, indptr: Any, B: Any, y: Any) -> None:
        of_warp = cuda.shared.array(shape, shared)
        count = y.shape[0] * tiles(y.shape[1])
        take_tiles(((data, permutation), indices, B, y, of_warp), (indptr, y.shape[1]), indices.size, count)

    return gather_tiles


@cache
def make_scatter_tiles(width: int, lanes: int, dtype: Any, index_dtype: Any) -> Any:
    """Return the kernel `y[indices[k], c] += data[k] * B[i, c]` over row i; y is of `dtype`."""
    add, place_of, number = add_for(dtype), make_place_of(width), sum_dtype(dtype).type

    @cuda.jit(device=True)
    def add_product(operands: Any, j: Any, weight: Any, c: Any, value: Any) -> Any:
        y = operands[3]
        if c < y.shape[1]:
            add(y, (j, c), weight * value)
        return value

    def make_take(lanes: int) -> Any:
        over_entries = make_over_entries(width, lanes, add_product, dtype, index_dtype, weight_in_order)

        @cuda.jit(device=True)
        def take(operands: Any, element: Any, low: Any, high: Any, thread: Any, mine: Any) -> None:
            B, y = operands[2:]
            if mine:
                i, c = place_of(element, thread, y.shape[1])
                value = number(B[np.uint64(i), np.uint64(min(c, y.shape[1] - 1))])
                over_entries(operands, low, high, y.shape[0], thread, np.uint64(c), value)

        return take

    take_tiles, tiles = make_take_rows(width, lanes, make_row_of(width), make_take), tiles_of(width)

    @cuda.jit(launch_bounds=ROOMY)
    def scatter_tiles(data: Any, indices: Any, indptr: Any, B: Any, y: Any) -> None:
        count = B.shape[0] * tiles(y.shape[1])
        take_tiles(((data,), indices, B, y), (indptr, y.shape[1]), indices.size, count)

    return scatter_tiles

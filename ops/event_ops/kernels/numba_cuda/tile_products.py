"""Products of a CSR matrix with a dense matrix on a GPU: neighbouring threads take neighbouring columns.

Columns are in tiles, of which each of `width` threads has a few. An element, which threads take together,
is a tile of a row. Each of its threads reads another entry of the row, in whole sectors, and they hand them
round by shuffles.
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
from event_ops.kernels.numba_cuda.wide import is_aligned, make_read_several


def width_of(columns: int, per: int = 1) -> int:
    """Return how many threads have a tile, `per` columns each: a power of two, for at most 32 columns."""
    return next_power_of_two(columns // per, WARP // per)


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
def make_place_of(width: int, per: int) -> Any:
    """Return the device function that gives a thread of an element its row and the first of its columns."""
    tiles = tiles_of(width * per)

    @cuda.jit(device=True)
    def place_of(element: Any, thread: Any, columns: Any) -> Any:
        count = tiles(columns)
        i = element // count
        return i, ((element - i * count) * width + thread % width) * per

    return place_of


@cache
def make_over_entries(width: int, lanes: int, ahead: int, use: Any, dtype: Any, index_dtype: Any) -> Any:
    """Return `f(operands, low, high, size, thread, c, values)`, which the threads of an element call at once.

    It calls `use(operands, columns, weights, c, values)` for `ahead` entries k of this thread at a time, with
    columns = indices[k], or -1 where that is not in [0, size) or there is no entry, and their weights. The
    entries are those from `low` up to `high`; operands begin with data and indices.
    """
    team = width * lanes
    share = min(team, WARP)  # the threads that hand round what each has read
    at_once, begin, from_lane = share // width, make_begin(team), from_lane_for(dtype)
    sums = sum_dtype(dtype)
    number, shared = sums.type, from_dtype(sums)
    # A shuffle moves 32 bits: a wider index takes two.
    index = np.int32 if np.can_cast(index_dtype, np.int32) else np.int64

    @cuda.jit(device=True)
    def entry(operands: Any, k: Any, low: Any, high: Any, size: Any) -> Any:
        """Return the column and the weight of entry k; -1 beyond the row, too."""
        j, weight = index(-1), number(0)
        if low <= k < high:
            j = index(place(operands[1][np.uint64(k)], size))
            weight = number(weight_in_order(operands, k))
        return j, weight

    @cuda.jit(device=True)
    def over_entries(operands: Any, low: Any, high: Any, size: Any, thread: Any, c: Any, values: Any) -> None:
        columns, weights = cuda.local.array(ahead, index), cuda.local.array(ahead, shared)
        mine = np.int32(thread) % np.int32(share)
        first = np.int32(cuda.laneid) - mine
        # Only the threads of this element call a shuffle together: others of the warp may be elsewhere.
        mask = np.uint32(np.uint32(FULL >> (WARP - share)) << np.uint32(first))
        source = first + mine // np.int32(width)
        begun = begin(low) + thread - mine
        while begun < high:
            j, weight = entry(operands, begun + mine, low, high, size)
            step, count = np.int32(0), np.int32(min(high - begun, share))
            while step < count:
                for n in range(ahead):
                    lane = source + step + np.int32(n * at_once)
                    columns[n] = cuda.shfl_sync(mask, j, lane)
                    weights[n] = from_lane(mask, weight, lane)
                use(operands, columns, weights, c, values)
                step += np.int32(at_once * ahead)
            begun += team

    return over_entries


AT_ONCE = 2  # entries of a thread whose columns of B are under way together


@cache
def make_gather_tiles(width: int, lanes: int, per: int, dtype: Any, index_dtype: Any) -> Any:
    """Return the kernel `y[i, c] = sum of data[k] * B[indices[k], c] over row i`; y is of `dtype`.

    A thread has `per` neighbouring columns.
    """
    sums, place_of, ahead = sum_dtype(dtype), make_place_of(width, per), min(AT_ONCE, width)
    number, shared, shape, room = sums.type, from_dtype(sums), WARPS * width, per * ahead
    read_several = make_read_several(per, number)

    @cuda.jit(device=True)
    def add_terms(operands: Any, columns: Any, weights: Any, c: Any, totals: Any) -> None:
        B, aligned, read = operands[2], operands[3], cuda.local.array(room, shared)
        for n in range(ahead):
            # No branch keeps the loads apart: an entry that does not count reads the first row.
            read_several(B, np.uint64(max(columns[n], 0)), c, aligned, read, n * per)
        for n in range(ahead):
            if columns[n] >= 0:
                for m in range(per):
                    totals[m] = number(totals[m] + number(weights[n] * read[n * per + m]))

    def make_take(lanes: int) -> Any:
        total_of = sum_over_team(lanes, width, sums.kind)
        over_entries = make_over_entries(width, lanes, ahead, add_terms, dtype, index_dtype)

        @cuda.jit(device=True)
        def take(operands: Any, element: Any, low: Any, high: Any, thread: Any, mine: Any) -> None:
            B, y, of_warp = operands[2], operands[4], operands[5]
            (i, c), totals = place_of(element, thread, y.shape[1]), cuda.local.array(per, shared)
            for n in range(per):
                totals[n] = 0
            if mine and B.shape[0] > 0:
                near = np.uint64(min(c, y.shape[1] - per))  # for threads beyond the last column, too
                over_entries(operands, low, high, B.shape[0], thread, near, totals)
            for n in range(per):
                total = total_of(totals[n], of_warp)
                if mine and thread < width and c < y.shape[1]:
                    y[np.uint64(i), np.uint64(c + n)] = y.dtype.type(total)

        return take

    take_tiles = make_take_rows(width, lanes, make_row_of(width * per), make_take)
    tiles = tiles_of(width * per)

    @cuda.jit(launch_bounds=ROOMY)
    def gather_tiles(data: Any, indices: Any, indptr: Any, B: Any, y: Any) -> None:
        of_warp = cuda.shared.array(shape, shared)
        operands = data, indices, B, is_aligned(B), y, of_warp
        take_tiles(operands, (indptr, y.shape[1]), indices.size, y.shape[0] * tiles(y.shape[1]))

    return gather_tiles


@cache
def make_scatter_tiles(width: int, lanes: int, dtype: Any, index_dtype: Any) -> Any:
    """Return the kernel `y[indices[k], c] += data[k] * B[i, c]` over row i; y is of `dtype`."""
    add, place_of, sums = add_for(dtype), make_place_of(width, 1), sum_dtype(dtype)
    number, shared = sums.type, from_dtype(sums)

    @cuda.jit(device=True)
    def add_products(operands: Any, columns: Any, weights: Any, c: Any, values: Any) -> None:
        y = operands[3]
        if columns[0] >= 0 and c < y.shape[1]:
            add(y, (np.uint64(columns[0]), c), weights[0] * values[0])

    def make_take(lanes: int) -> Any:
        over_entries = make_over_entries(width, lanes, 1, add_products, dtype, index_dtype)

        @cuda.jit(device=True)
        def take(operands: Any, element: Any, low: Any, high: Any, thread: Any, mine: Any) -> None:
            B, y = operands[2:]
            if mine:
                (i, c), values = place_of(element, thread, y.shape[1]), cuda.local.array(1, shared)
                values[0] = number(B[np.uint64(i), np.uint64(min(c, y.shape[1] - 1))])
                over_entries(operands, low, high, y.shape[0], thread, np.uint64(c), values)

        return take

    take_tiles, tiles = make_take_rows(width, lanes, make_row_of(width), make_take), tiles_of(width)

    @cuda.jit(launch_bounds=ROOMY)
    def scatter_tiles(data: Any, indices: Any, indptr: Any, B: Any, y: Any) -> None:
        count = B.shape[0] * tiles(y.shape[1])
        take_tiles((data, indices, B, y), (indptr, y.shape[1]), indices.size, count)

    return scatter_tiles

"""A stable radix sort of entries by column on a GPU, least significant digit first.

A block has a tile of neighbouring entries. It orders them by digit in shared memory first, so that neighbours
among its threads write neighbours: an entry alone would take a whole sector of memory.

Source: Satish, Harris and Garland, IPDPS 2009.
"""

from functools import cache
from typing import Any, Final

import numba
import numpy as np
from numba import cuda, from_dtype

from event_ops.kernels.numba_cuda.threads import (
    BLOCK,
    WARP,
    WARPS,
    blocks_of,
    lanes_alike,
    make_sum_before,
    rank_in,
)

MAX_BITS: Final = 9  # of a digit: more digits than 512 would leave a tile few entries of each
TILE_BYTES: Final = 16384  # of one array, in shared memory
BOUNDS = BLOCK, 2  # leaves 128 registers to a thread, which keeps its part of a tile there


def passes_for(columns: int) -> tuple[int, int]:
    """Return how many digits numbers up to `columns` have, and of how many bits."""
    bits = max(1, columns.bit_length())
    passes = blocks_of(bits, MAX_BITS)
    return passes, blocks_of(bits, passes)


sum_before = make_sum_before(WARPS, np.int64)


# One block per digit.
@cuda.jit
def scan_tiles(counts: Any, totals: Any) -> None:
    """Replace how often each tile has a digit by how often the tiles before it do."""
    of_warp = cuda.shared.array(WARPS, numba.int64)
    digit, tiles, running = cuda.blockIdx.x, counts.shape[1], np.int64(0)
    for first in range(0, tiles, BLOCK):
        tile = first + cuda.threadIdx.x
        before, whole = sum_before(counts[digit, tile] if tile < tiles else 0, of_warp)
        if tile < tiles:
            counts[digit, tile] = running + before
        running += whole
    if cuda.threadIdx.x == 0:
        totals[digit] = running


@cache
def make_count_digits(digits: int, tile: int) -> Any:
    """Return the kernel `counts[d, t]` = how many keys of tile t have digit d."""

    @cuda.jit
    def count_digits(keys: Any, shift: Any, counts: Any) -> None:
        tally = cuda.shared.array(digits, numba.int32)
        first = np.int64(cuda.blockIdx.x) * tile
        for digit in range(cuda.threadIdx.x, digits, BLOCK):
            tally[digit] = 0
        cuda.syncthreads()
        for k in range(first + cuda.threadIdx.x, min(first + tile, keys.size), BLOCK):
            cuda.atomic.add(tally, keys[np.uint64(k)] >> shift & (digits - 1), 1)
        cuda.syncthreads()
        for digit in range(cuda.threadIdx.x, digits, BLOCK):
            counts[digit, cuda.blockIdx.x] = tally[digit]

    return count_digits


@cache
def make_move_entries(digits: int, tile: int, dtype: Any, is_first: bool) -> Any:
    """Return the kernel that sorts keys, rows and positions by one digit, given where each tile's are put.

    Keys and rows are of `dtype`. At first the positions are those of the entries.
    """
    each, kind = tile // BLOCK, from_dtype(dtype)
    of_thread = blocks_of(digits)  # digits that a thread counts together

    @cuda.jit(device=True)
    def move_tile(values: Any, places: Any, targets: Any, staged: Any, moved: Any) -> None:
        """Write the values of a tile in the order of their places, by way of shared memory."""
        cuda.syncthreads()  # everybody has read what was staged before
        for n in range(each):
            staged[places[n]] = values[n]
        cuda.syncthreads()
        for n in range(each):
            if targets[n] >= 0:
                moved[np.uint64(targets[n])] = staged[cuda.threadIdx.x + n * BLOCK]

    @cuda.jit(launch_bounds=BOUNDS)
    def move_entries(
        keys: Any, rows: Any, positions: Any, counts: Any, totals: Any, shift: Any,
        new_keys: Any, new_rows: Any, new_positions: Any,
    ) -> None:  # fmt: skip
        tally = cuda.shared.array((WARPS, digits), numba.int32)
        begins, of_warp = cuda.shared.array(digits, numba.int64), cuda.shared.array(WARPS, numba.int64)
        staged = cuda.shared.array(tile, kind)
        values, places = cuda.local.array(each, kind), cuda.local.array(each, numba.int32)
        targets = cuda.local.array(each, new_positions.dtype)
        thread, warp, lane = cuda.threadIdx.x, cuda.threadIdx.x // WARP, cuda.laneid
        first = np.int64(cuda.blockIdx.x) * tile
        mine, size = first + warp * (WARP * each) + lane, min(keys.size - first, tile)
        for digit in range(lane, digits, WARP):
            tally[warp, digit] = 0
        cuda.syncwarp()
        # Places among equal digits of a warp: its lanes have neighbours, 32 after 32.
        for n in range(each):
            k = mine + n * WARP
            # Beyond the last entry the digit is the last.
            values[n] = keys[np.uint64(k)] if k < keys.size else (digits - 1) << shift
            digit = np.int32(values[n] >> shift & (digits - 1))
            alike = lanes_alike(digit)
            before = tally[warp, digit]
            cuda.syncwarp()
            places[n] = before + rank_in(alike)
            if rank_in(alike) == 0:
                tally[warp, digit] = before + cuda.popc(alike)
            cuda.syncwarp()
        cuda.syncthreads()
        here, everywhere = np.int64(0), np.int64(0)
        for digit in range(thread * of_thread, min((thread + 1) * of_thread, digits)):
            everywhere += totals[digit]
            for other in range(WARPS):
                here += tally[other, digit]
        here, everywhere = sum_before(here, of_warp)[0], sum_before(everywhere, of_warp)[0]
        for digit in range(thread * of_thread, min((thread + 1) * of_thread, digits)):
            begins[digit] = everywhere + counts[digit, cuda.blockIdx.x] - here
            everywhere += totals[digit]
            for other in range(WARPS):
                count = tally[other, digit]
                tally[other, digit] = here
                here += count
        cuda.syncthreads()
        for n in range(each):
            places[n] += tally[warp, values[n] >> shift & (digits - 1)]
            staged[places[n]] = values[n]
        cuda.syncthreads()
        for n in range(each):
            place = thread + n * BLOCK
            key = staged[place]
            targets[n] = begins[key >> shift & (digits - 1)] + place if place < size else -1
            if place < size:
                new_keys[np.uint64(targets[n])] = key
        for n in range(each):
            values[n] = rows[np.uint64(min(mine + n * WARP, keys.size - 1))]
        move_tile(values, places, targets, staged, new_rows)
        for n in range(each):
            k = min(mine + n * WARP, keys.size - 1)
            values[n] = k if is_first else positions[np.uint64(k)]
        move_tile(values, places, targets, staged, new_positions)

    return move_entries


def sort_by_column(column: Any, row: Any, columns: int, outs: tuple[Any, Any], stream: Any) -> Any:
    """Write the rows and positions of entries by column to `outs`; return the columns, the largest `columns`.

    It is called within a function for `numba_cuda_callable`; `column` and `row` are overwritten, and their
    dtype holds positions, too.
    """
    if column.size == 0:
        return column
    passes, bits = passes_for(columns)
    digits, tile = 1 << bits, TILE_BYTES // column.dtype.itemsize
    tiles = blocks_of(column.size, tile)
    counts = cuda.device_array((digits, tiles), outs[1].dtype)
    totals = cuda.device_array(digits, np.int64)
    # At first there are no positions: whatever stands for them is not read.
    here, there = [column, row, column], [cuda.device_array(column.size, column.dtype) for _ in range(3)]
    for step in range(passes):
        shift, is_last = np.int32(step * bits), step == passes - 1
        moved = [there[0], *outs] if is_last else there
        make_count_digits(digits, tile)[tiles, BLOCK, stream](here[0], shift, counts)
        scan_tiles[digits, BLOCK, stream](counts, totals)
        kernel = make_move_entries(digits, tile, column.dtype, step == 0)
        kernel[tiles, BLOCK, stream](*here, counts, totals, shift, *moved)
        if step == 0 and passes > 2:
            here[2] = cuda.device_array(column.size, column.dtype)
        here, there = there, here
    return here[0]

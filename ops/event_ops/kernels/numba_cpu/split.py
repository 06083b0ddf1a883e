"""Sharing work between threads: equal parts of a CSR matrix, one private sum per part, and their total.

The kernels themselves ask for the thread count, so that the one that a user sets is in force.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numba import prange

from event_ops.checks.arrays import reaches
from event_ops.kernels.numba_cpu.combine import add
from event_ops.kernels.numba_cpu.jit import by_type, is_array, njit, num_threads, one_and_all, take_chunks_of
from ffi_bridge import numba_kernel

# Below this many entries a parallel launch (2 us while other threads are awake, 30 to 70 while they sleep)
# and private sums cost more than the second thread saves.
MIN_PARALLEL = 1 << 15


def by_size(
    kernels: tuple[Any, Any], is_large: Callable[..., Any], **options: Any
) -> Callable[..., Callable[..., Any]]:
    """Return the builder of calls of a kernel: the first, or the second where `is_large(*arrays)`.

    They are those of `one_and_all`: for one thread, and for all. options: those of `numba_kernel`.
    """

    def build(*, outs: Any, **_: Any) -> Callable[..., Any]:
        return lambda *arrays: numba_kernel(kernels[is_large(*arrays)], outs, **options)(*arrays)

    return build


def many(place: int, least: int = MIN_PARALLEL) -> Callable[..., bool]:
    """Return a test for `by_size`: whether the array at this place has `least` elements or more."""
    return lambda *arrays: reaches(arrays[place].size, least)


# How many chunks rows are divided into, for each thread, where a thread can do any of them: one that comes
# late, or whose processor is slower, leaves more of them to the others.
CHUNKS_PER_THREAD = 8


@njit
def chunks() -> int:
    """Return how many chunks of rows threads take in turn, after `take_chunks_of(1)`."""
    return CHUNKS_PER_THREAD * num_threads()


@by_type
def first_row(ends: Any, part: Any, parts: Any) -> Any:
    """Return the first row of one of `parts` shares with about equally many entries and rows.

    The first share begins at row 0 and the last ends at the last row, whatever `ends` holds: together they
    cover every row, so that no output is left unwritten.
    """
    if is_array(ends):
        return lambda ends, part, parts: _first_row_of_csr(ends, part, parts)
    return lambda ends, part, parts: ends[0] * part // parts


@njit
def _first_row_of_csr(indptr: Any, part: int, parts: int) -> int:
    low, high = 0, indptr.size - 1
    if part == 0:
        return low
    if part == parts:
        return high
    # A row counts as much as an entry, since beginning one takes time, too.
    share = (np.int64(indptr[high]) + high) * part // parts
    while low < high:
        middle = (low + high) // 2
        if np.int64(indptr[middle]) + middle < share:
            low = middle + 1
        else:
            high = middle
    return low


@njit
def parts_for(work: int, size: int) -> int:
    """Return how many private sums of `size` elements pay for themselves when `work` entries are added up."""
    return max(1, min(num_threads(), 1 + work // max(size, 1)))


@njit
def private(out: Any, spare: Any, part: int) -> Any:
    """Return the array that a part adds into: the output for part 0, else a spare one."""
    if part == 0:
        return out
    return spare[part - 1]


@njit
def clear(y: Any) -> None:
    """Set y = 0 on one thread; in a parallel function Numba would launch all of them for it."""
    y[:] = 0


# Inlined, since only the parallel regions of a kernel itself are entered without the GIL.
@njit(inline="always")
def add_up(spare: Any, out: Any) -> None:
    """out += spare.sum(axis=0), shared between the threads."""
    combine_up(spare, out, add)


@njit(inline="always")
def combine_up(spare: Any, out: Any, combine: Any) -> None:
    """out = combine(out, part) for every part of `spare`, shared between the threads."""
    threads = num_threads()
    total = out.reshape(-1)
    for thread in prange(threads):
        low, high = total.size * thread // threads, total.size * (thread + 1) // threads
        for part in range(spare.shape[0]):
            extra = spare[part].reshape(-1)
            for i in range(np.uintp(low), np.uintp(high)):
                total[i] = combine(total[i], extra[i])


@njit(inline="always")
def unchanged(x: Any, y: Any) -> Any:
    """Return an operand as it is."""
    return x


@cache
def make_parallel(rows: Any, operand: Any = unchanged) -> tuple[Any, Any]:
    """Return the kernels of a product that has a row of y for each of the matrix: for one thread and for all.

    `rows(data, indices, ends, operand(x, y), y, low, high)` writes the rows from `low` to `high`.
    """

    @one_and_all
    def product(large: bool) -> Any:
        def rows_in_parts(data: Any, indices: Any, ends: Any, x: Any, y: Any) -> None:
            values, parts = operand(x, y), chunks() if large else 1
            if large:
                take_chunks_of(1)
            for part in prange(parts):
                low, high = first_row(ends, part, parts), first_row(ends, part + 1, parts)
                rows(data, indices, ends, values, y, low, high)
            if large:
                # The setting outlasts the loop: the next one gets equal shares again.
                take_chunks_of(0)

        return rows_in_parts

    return product


@cache
def make_parallel_sums(rows: Any) -> tuple[Any, Any]:
    """Return the kernels of a transposed product, whose rows add to all of y: for one thread and for all.

    `rows(data, indices, ends, x, y, low, high)` adds the rows from `low` to `high`.
    """

    @one_and_all
    def product(large: bool) -> Any:
        def sums_of_parts(data: Any, indices: Any, ends: Any, x: Any, y: Any) -> None:
            parts = parts_for(indices.size, y.shape[0]) if large else 1
            spare = np.empty((parts - 1, *y.shape), y.dtype)
            for part in prange(parts):
                mine = private(y, spare, part)
                mine[:] = 0
                low, high = first_row(ends, part, parts), first_row(ends, part + 1, parts)
                rows(data, indices, ends, x, mine, low, high)
            if large:
                add_up(spare, y)

        return sums_of_parts

    return product

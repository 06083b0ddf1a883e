"""Sharing work between threads: equal parts of a CSR matrix, one private sum per part, and their total.

The kernels themselves ask for the thread count, so that the one that a user sets is in force.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import prange

from event_ops.kernels.numba_cpu.combine import add
from event_ops.kernels.numba_cpu.jit import njit, num_threads

# Below this many entries a parallel launch (2 us while other threads are awake, 30 to 70 while they sleep)
# and private sums cost more than the second thread saves.
MIN_PARALLEL = 1 << 15


# How many chunks rows are divided into, for each thread, where a thread can do any of them: one that comes
# late, or whose processor is slower, leaves more of them to the others.
CHUNKS_PER_THREAD = 8


@njit
def chunks() -> int:
    """Return how many chunks threads take rows in, one after the other, after `take_chunks_of(1)`."""
    return CHUNKS_PER_THREAD * num_threads()


@njit
def first_row(indptr: Any, part: int, parts: int) -> int:
    """Return the first row of one of `parts` shares with about equally many entries and rows.

    The first share begins at row 0 and the last ends at the last row, whatever indptr holds: together they
    cover every row, so that no output is left unwritten.
    """
    low, high = 0, indptr.size - 1
    if part == 0:
        return low
    if part == parts:
        return high
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
    """Return the array that a part adds into: the output for the first, a spare one for every other."""
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

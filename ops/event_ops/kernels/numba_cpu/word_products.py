"""A gather of all rows of a matrix of words, whose columns may be in blocks: each has words of its own."""

from __future__ import annotations

from typing import Any

from numba import prange

from event_ops.kernels.numba_cpu.jit import njit, take_chunks_of
from event_ops.kernels.numba_cpu.packed_entries import columns_of, gather_words
from event_ops.kernels.numba_cpu.split import chunks, first_row


@njit
def gather_all(entries: Any, indptr: Any, scale: Any, values: Any, y: Any) -> None:
    """y[i] = scale[i] * (sum of code * values[column] over the words of row i in every block)."""
    blocks, rows = indptr.shape[0], indptr.shape[1] - 1
    for block in range(blocks):
        own = columns_of(values, block, blocks)
        gather_words(entries, indptr[block], scale, own, y, 0, rows, block > 0)


@njit(inline="always")
def gather_all_parallel(entries: Any, indptr: Any, scale: Any, values: Any, y: Any) -> None:
    """As `gather_all`, on all threads; within a parallel kernel."""
    parts, blocks = chunks(), indptr.shape[0]
    for block in range(blocks):
        ends, own = indptr[block], columns_of(values, block, blocks)
        take_chunks_of(1)
        for part in prange(parts):
            low, high = first_row(ends, part, parts), first_row(ends, part + 1, parts)
            gather_words(entries, ends, scale, own, y, low, high, block > 0)
        take_chunks_of(0)

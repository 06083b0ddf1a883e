"""Products with a matrix of words on the CPU: a gather of all rows, or transposed a scatter of rows.

Blocks are equal parts of the columns, each with words of its own; parts are the work of a thread.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import prange

from event_ops.checks.arrays import reaches
from event_ops.kernels.numba_cpu.deliver import MIN_ENTRIES_PARALLEL, entries_up_to
from event_ops.kernels.numba_cpu.events import ids_of, values_of
from event_ops.kernels.numba_cpu.jit import njit, one_and_all, take_chunks_of
from event_ops.kernels.numba_cpu.packed_entries import (
    add_rows_of_words,
    column_bits,
    columns_of,
    gather_words,
    scatter_words,
)
from event_ops.kernels.numba_cpu.split import (
    MIN_PARALLEL,
    add_up,
    chunks,
    clear,
    first_row,
    parts_for,
    private,
)
from event_ops.kernels.reference.entries import one_each
from ffi_bridge import numba_kernel


@one_and_all
def GATHER(large: bool) -> Any:
    """Return the function for y[i] = scale[i] * (sum of code * x[column] over row i in every block)."""

    def gather(entries: Any, indptr: Any, scale: Any, x: Any, y: Any) -> None:
        values, parts, blocks = values_of(x, y), chunks() if large else 1, indptr.shape[0]
        for block in range(blocks):
            ends, block_values = indptr[block], columns_of(values, block, blocks)
            if large:
                take_chunks_of(1)
            for part in prange(parts):
                low, high = first_row(ends, part, parts), first_row(ends, part + 1, parts)
                # The first block writes y, which holds nothing yet; the others add to it.
                gather_words(entries, ends, scale, block_values, y, low, high, block > 0)
            if large:
                take_chunks_of(0)

    return gather


@one_and_all
def SCATTER(large: bool) -> Any:
    """Return the function for y[column] = the sum of code * scale[i] * v[i] over all rows i."""

    def scatter(entries: Any, indptr: Any, scale: Any, v: Any, y: Any) -> None:
        blocks = indptr.shape[0]
        for block in range(blocks):
            ends, block_sums = indptr[block], columns_of(y, block, blocks)
            parts = parts_for(entries.size // blocks, block_sums.size) if large else 1
            spare = np.empty((parts - 1, block_sums.size), y.dtype)
            for part in prange(parts):
                mine = private(block_sums, spare, part)
                mine[:] = 0
                low, high = first_row(ends, part, parts), first_row(ends, part + 1, parts)
                scatter_words(entries, ends, scale, v, mine, low, high)
            if large:
                add_up(spare, block_sums)

    return scatter


@njit
def add_block(entries: Any, indptr: Any, scale: Any, events: Any, ids: Any, y: Any, block: int) -> None:
    """y = the sum of the words of the listed rows, in the columns of a block."""
    block_sums, bits = columns_of(y, block, indptr.shape[0]), column_bits(entries, y.size)
    clear(block_sums)
    add_rows_of_words(entries, indptr[block], scale, events, ids, np.uintp(1), block_sums, bits)


@one_and_all
def DELIVER(large: bool) -> Any:
    """Return the function for y[column] = the sum of code * scale[i] * event over the rows of active events.

    All threads take part if there are entries enough.
    """

    def deliver(entries: Any, indptr: Any, scale: Any, events: Any, y: Any) -> None:
        blocks, ids = indptr.shape[0], ids_of(events, indptr.shape[1] - 1)
        ends = entries_up_to(indptr[0], ids) if large else ids
        work = blocks * ends[ids.size] if large else 0
        parts = parts_for(work, y.size) if large else 1
        if not large or work < MIN_PARALLEL or parts == 1:
            for block in range(blocks):
                add_block(entries, indptr, scale, events, ids, y, block)
        elif blocks > 1:
            # Blocks have columns of their own: there is nothing private to add up afterwards.
            for block in prange(blocks):
                add_block(entries, indptr, scale, events, ids, y, block)
        else:
            spare, bits = np.empty((parts - 1, y.size), y.dtype), column_bits(entries, y.size)
            for part in prange(parts):
                low = np.searchsorted(ends, work * part // parts)
                high = np.searchsorted(ends, work * (part + 1) // parts)
                mine = private(y, spare, part)
                mine[:] = 0
                last = ids.size if part + 1 == parts else high
                add_rows_of_words(entries, indptr[0], scale, events, ids[low:last], np.uintp(1), mine, bits)
            add_up(spare, y)

    return deliver


def compact_matvec(*, outs: Any, transpose: bool, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays for one orientation: on one thread, or on all for many entries."""
    kernels = SCATTER if transpose else GATHER

    def call(entries: Any, indptr: Any, scale: Any, v: Any) -> Any:
        kernel = kernels[reaches(entries.size, MIN_PARALLEL)]
        return numba_kernel(kernel, outs)(entries, indptr.reshape(-1, indptr.shape[-1]), scale, v)

    return call


def compact_event_matvec(
    *, outs: Any, shape: tuple[int, int], transpose: bool, **_: Any
) -> Callable[..., Any]:
    """Return the function of arrays for one orientation: on one thread, or on all for many entries.

    Codes are finite, so that in a gather an inactive event adds 0 as a number, too.
    """

    def call(entries: Any, indptr: Any, scale: Any, events: Any) -> Any:
        if not transpose:
            events = one_each(events, shape[1], outs.dtype)
            # The kernel casts flags; of other events XLA casts one each.
            events = events if events.dtype == bool else events.astype(outs.dtype)
        large = reaches(entries.size, MIN_ENTRIES_PARALLEL if transpose else MIN_PARALLEL)
        kernel = (DELIVER if transpose else GATHER)[large]
        return numba_kernel(kernel, outs)(entries, indptr.reshape(-1, indptr.shape[-1]), scale, events)

    return call

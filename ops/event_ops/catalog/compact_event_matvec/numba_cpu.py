"""Event-driven product with a matrix of words on the CPU: rows of active events, or a gather of all rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import prange

from event_ops.checks.arrays import reaches
from event_ops.kernels.numba_cpu.deliver import MIN_ENTRIES_PARALLEL, entries_up_to
from event_ops.kernels.numba_cpu.events import ids_of, values_of
from event_ops.kernels.numba_cpu.jit import njit
from event_ops.kernels.numba_cpu.packed_entries import add_rows_of_words, column_bits, columns_of
from event_ops.kernels.numba_cpu.split import MIN_PARALLEL, add_up, clear, parts_for, private
from event_ops.kernels.numba_cpu.word_products import gather_all, gather_all_parallel
from event_ops.kernels.reference.entries import one_each
from ffi_bridge import numba_kernel


@njit
def gather(entries: Any, indptr: Any, scale: Any, events: Any, y: Any) -> None:
    gather_all(entries, indptr, scale, values_of(events, y), y)


@njit(parallel=True)
def gather_parallel(entries: Any, indptr: Any, scale: Any, events: Any, y: Any) -> None:
    values = values_of(events, y)
    gather_all_parallel(entries, indptr, scale, values, y)


@njit
def add_block(entries: Any, indptr: Any, scale: Any, events: Any, ids: Any, y: Any, block: int) -> None:
    """y = what the words of a block of the columns add to them, over the listed rows."""
    own, bits = columns_of(y, block, indptr.shape[0]), column_bits(entries, y.size)
    clear(own)
    add_rows_of_words(entries, indptr[block], scale, events, ids, np.uintp(1), own, bits)


@njit
def deliver(entries: Any, indptr: Any, scale: Any, events: Any, y: Any) -> None:
    ids = ids_of(events, indptr.shape[1] - 1)
    for block in range(indptr.shape[0]):
        add_block(entries, indptr, scale, events, ids, y, block)


@njit(parallel=True)
def deliver_parallel(entries: Any, indptr: Any, scale: Any, events: Any, y: Any) -> None:
    blocks, ids = indptr.shape[0], ids_of(events, indptr.shape[1] - 1)
    ends = entries_up_to(indptr[0], ids)
    work = blocks * ends[ids.size]
    parts = parts_for(work, y.size)
    if work < MIN_PARALLEL or parts == 1:
        for block in range(blocks):
            add_block(entries, indptr, scale, events, ids, y, block)
    elif blocks > 1:
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


KERNELS = (gather, gather_parallel), (deliver, deliver_parallel)  # [transpose][large]


def build(*, outs: Any, shape: tuple[int, int], transpose: bool, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays for one orientation: on one thread, or on all for many entries.

    Codes are finite, so that in a gather an inactive event adds 0 as a number, too.
    """

    def call(entries: Any, indptr: Any, scale: Any, events: Any) -> Any:
        if not transpose:
            events = one_each(events, shape[1], outs.dtype)
            # The kernel casts flags; of other events XLA casts one each.
            events = events if events.dtype == bool else events.astype(outs.dtype)
        large = reaches(entries.size, MIN_ENTRIES_PARALLEL if transpose else MIN_PARALLEL)
        kernel = KERNELS[transpose][large]
        return numba_kernel(kernel, outs)(entries, indptr.reshape(-1, indptr.shape[-1]), scale, events)

    return call

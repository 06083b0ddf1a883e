"""Arrivals through synapses with delays whose entries are words, on the CPU: one thread adds up a part."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numba import prange

from event_ops.checks.arrays import reaches
from event_ops.kernels.numba_cpu.deliver import MIN_ENTRIES_PARALLEL
from event_ops.kernels.numba_cpu.history import Recent, recent_rows
from event_ops.kernels.numba_cpu.jit import njit
from event_ops.kernels.numba_cpu.packed_entries import add_rows_of_words, column_bits
from event_ops.kernels.numba_cpu.ring_buffer import slot_now
from event_ops.kernels.numba_cpu.split import MIN_PARALLEL
from ffi_bridge import numba_kernel


@njit
def add_part(
    entries: Any, indptr: Any, scale: Any, recent: Any, rows: Any, starts: Any, y: Any, part: Any
) -> None:
    """y += what the words of a part add to its columns, over the listed rows."""
    slots, own = np.uintp(recent.history.shape[0]), y[starts[part] : starts[part + 1]]
    add_rows_of_words(entries, indptr[part], scale, recent, rows, slots, own, column_bits(entries, y.size))


@cache
def kernel(large: bool) -> Any:
    """Return the kernel for one thread, or for all threads.

    initial and y are the same memory; XLA copies initial first where it is needed again.
    """

    @njit(parallel=large)
    def compact_event_arrivals(
        history: Any,
        entries: Any,
        indptr: Any,
        scale: Any,
        slot: Any,
        starts: Any,
        initial: Any,
        y: Any,
    ) -> None:
        slots, parts, stored = history.shape[0], indptr.shape[0], indptr.shape[1] - 1
        recent = Recent(history, slot_now(slot, slots))
        rows = recent_rows(history, recent.now, stored // slots)
        # What these rows hold if they are of usual length: to look at each would take longer than it saves.
        if large and rows.size * (entries.size // max(stored, 1)) >= MIN_PARALLEL:
            for part in prange(parts):
                add_part(entries, indptr, scale, recent, rows, starts, y, part)
        else:
            for part in range(parts):
                add_part(entries, indptr, scale, recent, rows, starts, y, part)

    return compact_event_arrivals


def build(*, outs: Any, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays: on one thread, or on all for many entries in several parts."""

    def call(history: Any, entries: Any, indptr: Any, *rest: Any) -> Any:
        large = indptr.shape[0] > 1 and reaches(entries.size, MIN_ENTRIES_PARALLEL)
        run = numba_kernel(kernel(large), outs, input_output_aliases={6: 0})
        return run(history, entries, indptr, *rest)

    return call

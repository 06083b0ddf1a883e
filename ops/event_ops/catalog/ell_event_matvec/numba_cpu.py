"""Event-driven ELLPACK product on the CPU: rows of the active events, or for every row its active columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import prange

from event_ops.checks.arrays import reaches
from event_ops.kernels.numba_cpu.deliver import MIN_ENTRIES_PARALLEL
from event_ops.kernels.numba_cpu.ell import add_rows, gather_rows_with
from event_ops.kernels.numba_cpu.events import listed_ids, values_of
from event_ops.kernels.numba_cpu.gather import event_row
from event_ops.kernels.numba_cpu.jit import njit, take_chunks_of
from event_ops.kernels.numba_cpu.split import MIN_PARALLEL, add_up, chunks, clear, parts_for, private
from ffi_bridge import numba_kernel

gather_rows = gather_rows_with(event_row)


@njit
def matvec(data: Any, indices: Any, events: Any, y: Any) -> None:
    gather_rows(data, indices, values_of(events, y), y, 0, y.size)


@njit(parallel=True)
def matvec_parallel(data: Any, indices: Any, events: Any, y: Any) -> None:
    values, parts = values_of(events, y), chunks()
    take_chunks_of(1)
    for part in prange(parts):
        low, high = y.size * part // parts, y.size * (part + 1) // parts
        gather_rows(data, indices, values, y, low, high)
    take_chunks_of(0)


@njit
def matvec_transposed(data: Any, indices: Any, events: Any, y: Any) -> None:
    clear(y)
    add_rows(data, indices, events, listed_ids(events), y)


@njit(parallel=True)
def matvec_transposed_parallel(data: Any, indices: Any, events: Any, y: Any) -> None:
    clear(y)
    ids = listed_ids(events)
    work = ids.size * indices.shape[1]
    parts = parts_for(work, y.size)
    if work < MIN_PARALLEL or parts == 1:
        add_rows(data, indices, events, ids, y)
    else:
        spare = np.empty((parts - 1, y.size), y.dtype)
        for part in prange(parts):
            mine = private(y, spare, part)
            if part > 0:
                mine[:] = 0
            low, high = ids.size * part // parts, ids.size * (part + 1) // parts
            add_rows(data, indices, events, ids[low:high], mine)
        add_up(spare, y)


KERNELS = (matvec, matvec_parallel), (matvec_transposed, matvec_transposed_parallel)  # [transpose][large]


def build(*, outs: Any, transpose: bool, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays for one orientation: on one thread, or on all for many entries."""

    def call(data: Any, indices: Any, events: Any) -> Any:
        large = reaches(indices.size, MIN_ENTRIES_PARALLEL if transpose else MIN_PARALLEL)
        return numba_kernel(KERNELS[transpose][large], outs)(data, indices, events)

    return call

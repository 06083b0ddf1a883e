"""Event-driven dense product on the CPU: rows of the active events added up, or their columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import prange

from event_ops.checks.arrays import reaches
from event_ops.kernels.numba_cpu.dense import add_dense_rows, dot_rows
from event_ops.kernels.numba_cpu.events import ids_of, values_of
from event_ops.kernels.numba_cpu.jit import njit, num_threads, take_chunks_of
from event_ops.kernels.numba_cpu.split import MIN_PARALLEL, chunks
from ffi_bridge import numba_kernel


@njit
def matvec(weights: Any, events: Any, y: Any) -> None:
    dot_rows(weights, values_of(events, y), ids_of(events, events.size), y, 0, y.size)


@njit
def matvec_transposed(weights: Any, events: Any, y: Any) -> None:
    add_dense_rows(weights, events, ids_of(events, events.size), y, 0, y.size)


@njit(parallel=True)
def matvec_parallel(weights: Any, events: Any, y: Any) -> None:
    values, ids = values_of(events, y), ids_of(events, events.size)
    if ids.size * y.size < MIN_PARALLEL:
        dot_rows(weights, values, ids, y, 0, y.size)
    else:
        parts = chunks()
        take_chunks_of(1)
        for part in prange(parts):
            low, high = y.size * part // parts, y.size * (part + 1) // parts
            dot_rows(weights, values, ids, y, low, high)
        take_chunks_of(0)


@njit(parallel=True)
def matvec_transposed_parallel(weights: Any, events: Any, y: Any) -> None:
    ids = ids_of(events, events.size)
    if ids.size * y.size < MIN_PARALLEL:
        add_dense_rows(weights, events, ids, y, 0, y.size)
    else:
        parts = num_threads()
        for part in prange(parts):
            low, high = y.size * part // parts, y.size * (part + 1) // parts
            add_dense_rows(weights, events, ids, y, low, high)


KERNELS = (matvec, matvec_parallel), (matvec_transposed, matvec_transposed_parallel)  # [transpose][large]


def build(*, outs: Any, transpose: bool, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays for one orientation: on one thread, or on all for many weights."""

    def call(weights: Any, events: Any) -> Any:
        return numba_kernel(KERNELS[transpose][reaches(weights.size, MIN_PARALLEL)], outs)(weights, events)

    return call

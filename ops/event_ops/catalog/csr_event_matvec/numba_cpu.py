"""Event-driven CSR product on the CPU: rows of the active events, or for every row its active columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from numba import prange

from event_ops.checks.arrays import reaches
from event_ops.kernels.numba_cpu.access import permuted
from event_ops.kernels.numba_cpu.deliver import MIN_ENTRIES_PARALLEL, deliver, deliver_parallel
from event_ops.kernels.numba_cpu.events import count_ids, values_of
from event_ops.kernels.numba_cpu.gather import event_row, gather_rows_with
from event_ops.kernels.numba_cpu.jit import njit, take_chunks_of
from event_ops.kernels.numba_cpu.packed_events import unpack_into
from event_ops.kernels.numba_cpu.split import MIN_PARALLEL, chunks, clear, first_row
from ffi_bridge import numba_kernel

gather_rows = gather_rows_with(event_row)


@njit
def matvec(data: Any, indices: Any, indptr: Any, events: Any, y: Any) -> None:
    gather_rows(data, indices, indptr, values_of(events, y), y, 0, indptr.size - 1)


@njit(parallel=True, inline="always")
def matvec_parallel(data: Any, indices: Any, indptr: Any, events: Any, y: Any) -> None:
    values, parts = values_of(events, y), chunks()
    take_chunks_of(1)
    for part in prange(parts):
        low, high = first_row(indptr, part, parts), first_row(indptr, part + 1, parts)
        gather_rows(data, indices, indptr, values, y, low, high)
    take_chunks_of(0)


@njit
def matvec_transposed(data: Any, indices: Any, indptr: Any, events: Any, y: Any) -> None:
    clear(y)
    deliver(data, indices, indptr, events, y)


@njit(parallel=True, inline="always")
def matvec_transposed_parallel(data: Any, indices: Any, indptr: Any, events: Any, y: Any) -> None:
    clear(y)
    deliver_parallel(data, indices, indptr, events, y)


KERNELS = (matvec, matvec_parallel), (matvec_transposed, matvec_transposed_parallel)  # [transpose][large]


def one_each(events: Any, size: int, dtype: Any) -> Any:
    """Return one flag or number per neuron, so that entries can look up the event of their column."""
    if events.dtype == np.int32:
        return numba_kernel(count_ids, jax.ShapeDtypeStruct((size,), dtype))(events)
    if events.dtype == np.uint32:
        return numba_kernel(unpack_into, jax.ShapeDtypeStruct((size,), np.bool_))(events)
    # A cast of each neuron's count is less than one of each entry's.
    return events.astype(dtype) if events.dtype.kind in "iu" else events


def build(*, outs: Any, shape: tuple[int, int], transpose: bool, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays for one orientation: on one thread, or on all for many entries."""

    def call(data: Any, indices: Any, indptr: Any, events: Any, *permutation: Any) -> Any:
        if not transpose:
            events = one_each(events, shape[1], outs.dtype)
        large = reaches(indices.size, MIN_ENTRIES_PARALLEL if transpose else MIN_PARALLEL)
        kernel = KERNELS[transpose][large]
        kernel = permuted(kernel, large) if permutation else kernel
        return numba_kernel(kernel, outs)(data, indices, indptr, events, *permutation)

    return call

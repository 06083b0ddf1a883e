"""Products of a CSR matrix on the CPU: loops along its rows or over its entries, each with a term."""

import operator
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from event_ops.checks.arrays import reaches
from event_ops.kernels.numba_cpu.access import permuted
from event_ops.kernels.numba_cpu.deliver import MIN_ENTRIES_PARALLEL, deliver, deliver_parallel, scatter_rows
from event_ops.kernels.numba_cpu.deliver_matmat import make_delivery
from event_ops.kernels.numba_cpu.events import count_ids, values_of
from event_ops.kernels.numba_cpu.every_entry import make_every_entry, sample_row, scale_row
from event_ops.kernels.numba_cpu.gather import (
    above_own,
    beside_own,
    event_row,
    make_row_gather,
    make_row_sum,
    number_row,
)
from event_ops.kernels.numba_cpu.jit import one_and_all
from event_ops.kernels.numba_cpu.matmat import is_large, make_gather, make_scatter, widths_of
from event_ops.kernels.numba_cpu.packed_events import unpack_into
from event_ops.kernels.numba_cpu.simd import add_product, add_weighted
from event_ops.kernels.numba_cpu.split import (
    MIN_PARALLEL,
    by_size,
    clear,
    make_parallel,
    make_parallel_sums,
    many,
)
from ffi_bridge import numba_kernel


@one_and_all
def deliver_all(large: bool) -> Any:
    """Return the function for y = A.T @ events, on all threads only if there are entries enough."""
    add = deliver_parallel if large else deliver

    def deliver_to_zeros(data: Any, indices: Any, ends: Any, events: Any, y: Any) -> None:
        clear(y)
        add(data, indices, ends, events, y)

    return deliver_to_zeros


# Each is a pair of kernels: for one thread, and for all.
MATVEC = make_parallel(make_row_gather(number_row)), make_parallel_sums(scatter_rows)  # [transpose]
EVENT_MATVEC = make_parallel(make_row_gather(event_row), values_of), deliver_all
GAP_CURRENT = make_parallel(make_row_gather(make_row_sum(operator.mul, above_own), beside_own))
SDDMM, SCALE_ROWS = make_every_entry(sample_row), make_every_entry(scale_row)


def csr_matvec(*, outs: Any, transpose: bool, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays for one orientation: on one thread, or on all for many entries."""
    return by_size(MATVEC[transpose], many(1))(outs=outs)


csr_gap_current = by_size(GAP_CURRENT, many(1))


def csr_matmat(*, outs: Any, transpose: bool, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays for one orientation: on one thread, or on all for many terms."""
    make = make_scatter if transpose else make_gather

    def call(data: Any, indices: Any, indptr: Any, B: Any) -> Any:
        kernel = make(add_product, widths_of(B.shape[1]))[is_large(indices.size, B.shape[1])]
        return numba_kernel(kernel, outs)(data, indices, indptr, B)

    return call


def csr_event_matvec(*, outs: Any, shape: tuple[int, int], transpose: bool, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays: a gather of all rows, or transposed the rows of active events."""

    def call(data: Any, indices: Any, indptr: Any, events: Any, *permutation: Any) -> Any:
        if not transpose:
            events = one_each(events, shape[1], outs.dtype)
        # Transposed, only rows of active events are read: mostly few, which the kernel counts by itself.
        large = reaches(indices.size, MIN_ENTRIES_PARALLEL if transpose else MIN_PARALLEL)
        kernel = EVENT_MATVEC[transpose][large]
        kernel = permuted(kernel, large) if permutation else kernel
        return numba_kernel(kernel, outs)(data, indices, indptr, events, *permutation)

    return call


def one_each(events: Any, size: int, dtype: Any) -> Any:
    """Return one flag or number per neuron, so that entries can look up the event of their column."""
    if events.dtype == np.int32:
        return numba_kernel(count_ids, jax.ShapeDtypeStruct((size,), dtype))(events)
    if events.dtype == np.uint32:
        return numba_kernel(unpack_into, jax.ShapeDtypeStruct((size,), np.bool_))(events)
    # A cast of each neuron's count is less than one of each entry's.
    return events.astype(dtype) if events.dtype.kind in "iu" else events


def csr_event_matmat(*, outs: Any, transpose: bool, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays: a gather of all rows, or transposed the rows of active events."""

    def call(data: Any, indices: Any, indptr: Any, events: Any, *permutation: Any) -> Any:
        n = events.shape[1]
        large = reaches(indices.size * n, MIN_ENTRIES_PARALLEL) if transpose else is_large(indices.size, n)
        widths = widths_of(n)
        kernel = (make_delivery(widths) if transpose else make_gather(add_weighted, widths))[large]
        kernel = permuted(kernel, large) if permutation else kernel
        return numba_kernel(kernel, outs)(data, indices, indptr, events, *permutation)

    return call


csr_sddmm = by_size(
    SDDMM, lambda indices, indptr, X, Y: is_large(indices.size, X.shape[1] if X.ndim == 2 else 1)
)


def csr_scale_rows(*, outs: Any, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays: a pass over the weights, on one thread, or on all for many entries."""

    def call(data: Any, indptr: Any, x: Any) -> Any:
        # The loop has two operands beside the entries; this one has but one.
        return numba_kernel(SCALE_ROWS[reaches(data.size, MIN_PARALLEL)], outs)(data, indptr, x, x)

    return call

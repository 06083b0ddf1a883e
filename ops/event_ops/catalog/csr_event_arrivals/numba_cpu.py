"""Arrivals through synapses with delays on the CPU: the rows of recent events, added to one vector."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from event_ops.checks.arrays import reaches
from event_ops.kernels.numba_cpu.deliver import MIN_ENTRIES_PARALLEL, add_rows, add_rows_parallel
from event_ops.kernels.numba_cpu.history import Recent, recent_rows
from event_ops.kernels.numba_cpu.jit import njit
from event_ops.kernels.numba_cpu.ring_buffer import slot_now
from ffi_bridge import numba_kernel


@cache
def kernel(large: bool) -> Any:
    """Return the kernel for one thread, or for all threads.

    initial and y are the same memory; XLA copies initial first where it is needed again.
    """
    add = add_rows_parallel if large else add_rows

    @njit(parallel=large)
    def csr_event_arrivals(
        history: Any, data: Any, indices: Any, indptr: Any, slot: Any, initial: Any, y: Any
    ) -> None:
        now = slot_now(slot, history.shape[0])
        rows = recent_rows(history, now, (indptr.size - 1) // history.shape[0])
        add(data, indices, indptr, Recent(history, now), rows, y)

    return csr_event_arrivals


def build(*, outs: Any, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays: on one thread, or on all for many entries."""

    def call(history: Any, data: Any, indices: Any, *rest: Any) -> Any:
        large = reaches(indices.size, MIN_ENTRIES_PARALLEL)
        return numba_kernel(kernel(large), outs, input_output_aliases={5: 0})(history, data, indices, *rest)

    return call

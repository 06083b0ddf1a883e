"""Arrivals through synapses with delays on a GPU: the rows of recent events, added to one vector."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import cuda

from event_ops.kernels.numba_cuda.access import weight_in_order
from event_ops.kernels.numba_cuda.deliver import add_entries_with
from event_ops.kernels.numba_cuda.fixed_order import event_sums
from event_ops.kernels.numba_cuda.history import deliver_recent
from event_ops.kernels.reference.history import lagged
from ffi_bridge import numba_cuda_callable

add_entries = add_entries_with(weight_in_order)


@cuda.jit(device=True)
def add_row(
    data: Any, indices: Any, _i: Any, _first: Any, _width: Any, begin: Any, end: Any, step: Any, value: Any,
    y: Any,
) -> None:  # fmt: skip
    """y[indices[k]] += data[k] * value for every `step`-th k from `begin` up to `end`."""
    add_entries((data,), indices, begin, end, step, value, y)


# initial and y are the same memory.
def csr_event_arrivals(
    history: Any, data: Any, indices: Any, indptr: Any, slot: Any, initial: Any, starts: Any, y: Any,
    stream: Any,
) -> None:  # fmt: skip
    """Launch the kernel for the encoding of the history."""
    deliver_recent(history, data, indices, indptr, starts, slot, y, stream, add_row)


def in_fixed_order(outs: Any, rows: int) -> Callable[..., Any]:
    """Return the call that sorts all entries by their column."""

    def call(history: Any, data: Any, indices: Any, indptr: Any, slot: Any, initial: Any) -> Any:
        events = lagged(history, slot, rows, outs.dtype)
        return initial + event_sums(data.astype(outs.dtype), indices, indptr, events, outs)

    return call


def build(*, outs: Any, shape: tuple[int, int], deterministic: bool = False, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays; the longer rows are, the more threads share one."""
    if deterministic:
        return in_fixed_order(outs, shape[0])
    run = numba_cuda_callable(csr_event_arrivals, outs, input_output_aliases={5: 0})

    def call(history: Any, data: Any, indices: Any, indptr: Any, *rest: Any) -> Any:
        weights, no_starts = data.reshape(-1).astype(outs.dtype), np.zeros(2, np.int32)
        return run(history, weights, indices, indptr[None], *rest, no_starts)

    return call

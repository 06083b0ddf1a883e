"""Arrivals through synapses with delays whose entries are words, on a GPU: the rows of recent events."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from event_ops.kernels.numba_cuda.history import deliver_recent
from event_ops.kernels.numba_cuda.packed_entries import add_row_of
from ffi_bridge import numba_cuda_callable


# initial and y are the same memory.
def compact_event_arrivals(
    history: Any, entries: Any, indptr: Any, scale: Any, slot: Any, starts: Any, initial: Any, y: Any,
    stream: Any,
) -> None:  # fmt: skip
    """Launch the kernel for the encoding of the history."""
    deliver_recent(history, scale, entries, indptr, starts, slot, y, stream, add_row_of(entries))


def build(*, outs: Any, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays; the longer rows are, the more threads share one."""
    run = numba_cuda_callable(compact_event_arrivals, outs, input_output_aliases={6: 0})

    def call(history: Any, entries: Any, indptr: Any, scale: Any, *rest: Any) -> Any:
        return run(history, entries, indptr, scale.reshape(-1), *rest)

    return call

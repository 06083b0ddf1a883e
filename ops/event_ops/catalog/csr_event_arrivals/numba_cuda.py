"""Arrivals through synapses with delays on a GPU: the rows of recent events, added to one vector.

A block reads some words, which are bits, flags or ids, and notes those with an active event; its threads, in
teams, take these in turn, and add the rows of their events.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numba
import numpy as np
from numba import cuda

from event_ops.parts.numba_cuda.access import slot_now, weight_in_order
from event_ops.parts.numba_cuda.deliver import Delivery, add_entries_with, note
from event_ops.parts.numba_cuda.fixed_order import event_sums
from event_ops.parts.numba_cuda.history import ENCODINGS, FLAGS, Encoding
from event_ops.parts.numba_cuda.row_products import csr_row
from event_ops.parts.numba_cuda.threads import BLOCK
from event_ops.parts.reference.history import lagged
from ffi_bridge import numba_cuda_callable

add_entries = add_entries_with(weight_in_order)


@cache
def deliver_recent_with(team: int, encoding: Encoding) -> Any:
    """Return the kernel for one encoding; `team` threads share a row."""
    is_known, bits_of, first_of, value_of = encoding

    @cuda.jit
    def deliver_recent(
        history: Any, data: Any, indices: Any, indptr: Any, slot: Any, rows: Any, span: Any, y: Any
    ) -> None:
        noted, count = cuda.shared.array(BLOCK, numba.int64), cuda.shared.array(1, numba.int32)
        slots, width = history.shape
        thread, found = cuda.threadIdx.x, -1
        position = cuda.blockIdx.x * span + thread
        if thread < span and position < history.size:
            found = position if is_known(history[position // width, position % width], rows) else -1
        active, now, nse = note(found, noted, count), slot_now(slot, slots), indices.size
        first, step = cuda.blockIdx.y * team + thread % team, cuda.gridDim.y * team
        for place_of_word in range(thread // team, active, BLOCK // team):
            step_of, word = noted[place_of_word] // width, noted[place_of_word] % width
            event = history[step_of, word]
            value, events, neuron = y.dtype.type(value_of(event)), bits_of(event), first_of(event, word)
            delay = (now - step_of) % slots
            while events:
                i = neuron + cuda.ffs(events) - 1
                events &= events - np.uint32(1)
                if i < rows:
                    low, high = csr_row(indptr, i * slots + delay, nse)
                    add_entries((data,), indices, low + first, high, step, value, y)

    return deliver_recent


# initial and y are the same memory.
def csr_event_arrivals(
    history: Any, data: Any, indices: Any, indptr: Any, slot: Any, initial: Any, y: Any, stream: Any
) -> None:
    """Launch the kernel for the encoding of the history."""
    slots, rows = history.shape[0], indptr.size - 1
    grid, span, team = Delivery.of(history.size, rows, indices.size)
    kernel = deliver_recent_with(team, ENCODINGS.get(np.dtype(history.dtype), FLAGS))
    words = history, data, indices, indptr, slot, np.int64(rows // slots), np.int32(span), y
    kernel[grid, BLOCK, stream](*words)


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

    def call(history: Any, data: Any, *rest: Any) -> Any:
        return run(history, data.reshape(-1).astype(outs.dtype), *rest)

    return call

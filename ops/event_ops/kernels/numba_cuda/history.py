"""Histories on a GPU: the rows of recent events, whose words are bits, flags, numbers or spike ids.

A block reads some words of a slot and notes those with an active event; its threads, in teams, take these in
turn, and add the rows of their events. Lists of spike ids begin with the active ones, so that neighbours are
in different blocks.
"""

from functools import cache
from typing import Any

import numba
import numpy as np
from numba import cuda

from event_ops.kernels.numba_cuda.access import is_active, place, slot_now
from event_ops.kernels.numba_cuda.deliver import Delivery, note, team_for
from event_ops.kernels.numba_cuda.row_products import csr_row
from event_ops.kernels.numba_cuda.threads import BLOCK, blocks_of
from ffi_bridge import numba_cuda_callable

BITS = 32


@cuda.jit(device=True)
def any_active(word: Any, _rows: Any) -> Any:
    """Return whether an event is active in a word of bits, a flag or a number."""
    return is_active(word)


@cuda.jit(device=True)
def is_row(word: Any, rows: Any) -> Any:
    """Return whether a spike id is that of a neuron, and not padding."""
    return place(word, rows) >= 0


@cuda.jit(device=True)
def of_bits(word: Any, position: Any) -> Any:
    """Return the active events in a word of bits, as bits, the neuron of the first bit, and their value."""
    return np.uint32(word), position * BITS, 1


@cuda.jit(device=True)
def of_id(word: Any, _position: Any) -> Any:
    """Return one bit, the neuron that a spike id names, and 1."""
    return np.uint32(1), np.int64(word), 1


@cuda.jit(device=True)
def of_value(word: Any, position: Any) -> Any:
    """Return one bit, the neuron of an active flag or number, and its value."""
    return np.uint32(1), position, word


ENCODINGS = {np.dtype(np.uint32): of_bits, np.dtype(np.int32): of_id}


@cache
def make_recent_delivery(least: int, events_in: Any, add_row: Any) -> Any:
    """Return the kernel for the encoding that `events_in` reads; `least` threads share a row, or more.

    A row is `add_row(weights, entries, i, first, width, begin, end, step, value, y)`, of neuron i, onto the
    `width` columns of a part from its first on. `across` blocks share a slot, and each reads `span` words.
    """
    are_listed = events_in is of_id  # the active words come first
    is_known = is_row if are_listed else any_active

    @cuda.jit
    def deliver_recent(
        history: Any, weights: Any, entries: Any, indptr: Any, starts: Any, slot: Any, rows: Any, across: Any,
        span: Any, y: Any,
    ) -> None:  # fmt: skip
        noted, count = cuda.shared.array(BLOCK, numba.int32), cuda.shared.array(1, numba.int32)
        slots, length = history.shape
        parts, nse = indptr.shape[0], entries.size
        thread, active_position = cuda.threadIdx.x, np.int32(-1)
        step_of, block_of_slot = np.uint64(cuda.blockIdx.x // across), cuda.blockIdx.x % across
        position = block_of_slot + thread * across if are_listed else block_of_slot * span + thread
        if thread < span and position < length and is_known(history[step_of, np.uint64(position)], rows):
            active_position = np.int32(position)
        active, now = note(active_position, noted, count), slot_now(slot, slots)
        team = team_for(active, least)
        delay = (now - np.int64(step_of)) % slots
        first, step = cuda.blockIdx.y * team + thread % team, cuda.gridDim.y * team
        for place_of_word in range(thread // team, active, BLOCK // team):
            word = noted[place_of_word]
            events, neuron, number = events_in(history[step_of, np.uint64(word)], word)
            value = y.dtype.type(number)
            while events:
                i = neuron + cuda.ffs(events) - 1
                events &= events - np.uint32(1)
                if i < rows:
                    for part in range(parts):
                        low, high = csr_row(indptr[part], i * slots + delay, nse)
                        begin, width = np.int64(starts[part]), np.int64(starts[part + 1] - starts[part])
                        add_row(weights, entries, i, begin, width, low + first, high, step, value, y)

    return deliver_recent


def recent_sums(outs: Any, add_row: Any) -> Any:
    """Return `f(history, weights, entries, indptr, starts, slot, sums)`, which adds rows of recent events.

    indptr is (parts, rows * slots + 1). The sums are updated in place where they are not needed again.
    """

    def launch(
        history: Any, weights: Any, entries: Any, indptr: Any, starts: Any, slot: Any, sums: Any, y: Any,
        stream: Any,
    ) -> None:  # fmt: skip
        (slots, length), rows = history.shape, indptr.shape[1] - 1
        (_, parts), span, least = Delivery.of(history.size, rows, entries.size)
        across = blocks_of(length, span)
        kernel = make_recent_delivery(least, ENCODINGS.get(np.dtype(history.dtype), of_value), add_row)
        inputs = history, weights, entries, indptr, starts, slot, np.int64(rows // slots)
        kernel[(slots * across, parts), BLOCK, stream](*inputs, np.int32(across), np.int32(span), y)

    return numba_cuda_callable(launch, outs, input_output_aliases={6: 0})

"""Arrivals through synapses on the CPU: rows of active events, added to sums, a ring buffer or conductances.

The first argument that is updated and y are the same memory; XLA copies it first where it is needed again.
Kernels read y: LLVM sees two arrays that overlap, and would not vectorise.
"""

from typing import Any

import numpy as np
from numba import prange

from event_ops.checks.arrays import reaches
from event_ops.kernels.numba_cpu.deliver import (
    MIN_ENTRIES_PARALLEL,
    add_rows,
    add_rows_parallel,
    deliver,
    deliver_parallel,
    entries_up_to,
)
from event_ops.kernels.numba_cpu.events import Recent, ids_of
from event_ops.kernels.numba_cpu.history import recent_rows
from event_ops.kernels.numba_cpu.jit import CONTRACT, njit, num_threads, one_and_all
from event_ops.kernels.numba_cpu.packed_entries import add_rows_of_words, column_bits
from event_ops.kernels.numba_cpu.ring_buffer import (
    add_delayed_rows,
    add_part,
    seem_ordered,
    slot_bounds,
    slot_now,
)
from event_ops.kernels.numba_cpu.split import MIN_PARALLEL, by_size, many
from ffi_bridge import numba_kernel

# Below this many elements their decay takes less time than a parallel launch.
MIN_DECAY_PARALLEL = 1 << 18


# One thread: private sums would take a pass over the whole buffer, which a ring buffer is there to avoid.
@njit
def deliver_delayed(
    buffer: Any, data: Any, indices: Any, indptr: Any, delays: Any, spikes: Any, slot: Any, y: Any
) -> None:
    """y[(now + delays[k]) % slots, indices[k]] += weight k * spike over the rows of spikes."""
    ids = ids_of(spikes, indptr.size - 1)
    now = slot_now(slot, y.shape[0])
    add_delayed_rows(data, indices, indptr, delays, spikes, ids, now, y)


# Each thread has slots of its own, which are a part of every row if rows are in the order of their delays.
@njit(parallel=True)
def deliver_delayed_parallel(
    buffer: Any, data: Any, indices: Any, indptr: Any, delays: Any, spikes: Any, slot: Any, y: Any
) -> None:
    """`deliver_delayed` on all threads, if there are entries enough."""
    ids = ids_of(spikes, indptr.size - 1)
    slots = np.uintp(y.shape[0])
    now = slot_now(slot, y.shape[0])
    parts = num_threads() if entries_up_to(indptr, ids)[ids.size] >= MIN_PARALLEL else 1
    # In any other order a thread finds no block of a row to skip.
    if parts == 1 or not seem_ordered(indptr, delays, ids):
        add_delayed_rows(data, indices, indptr, delays, spikes, ids, now, y)
    else:
        bounds = slot_bounds(indptr, delays, ids, parts, slots)
        for part in prange(parts):
            low, high = bounds[part], bounds[part + 1]
            add_part(data, indices, indptr, delays, spikes, ids, now, low, high, y)


@one_and_all
def ARRIVALS(large: bool) -> Any:
    """Return the function that adds rows of a CSR matrix."""
    add = add_rows_parallel if large else add_rows

    def event_arrivals(
        history: Any, data: Any, indices: Any, indptr: Any, slot: Any, initial: Any, y: Any
    ) -> None:
        now = slot_now(slot, history.shape[0])
        # The row pointer has a row for every neuron and delay.
        rows = recent_rows(history, now, (indptr.size - 1) // history.shape[0])
        add(data, indices, indptr, Recent(history, now), rows, y)

    return event_arrivals


@njit
def add_words(
    entries: Any, indptr: Any, scale: Any, events: Any, rows: Any, each: Any, starts: Any, y: Any, part: Any
) -> None:
    """y += the words of a part, in its columns, over the listed rows; `each` of them share a scale."""
    sums = y[starts[part] : starts[part + 1]]
    add_rows_of_words(entries, indptr[part], scale, events, rows, each, sums, column_bits(entries, y.size))


@one_and_all
def ARRIVALS_OF_WORDS(large: bool) -> Any:
    """Return the function that adds rows of words, of which each thread adds up a part."""

    def event_arrivals(
        history: Any, entries: Any, indptr: Any, scale: Any, slot: Any, starts: Any, initial: Any, y: Any
    ) -> None:
        slots, parts, stored = history.shape[0], indptr.shape[0], indptr.shape[1] - 1
        recent = Recent(history, slot_now(slot, slots))
        rows = recent_rows(history, recent.now, stored // slots)
        # What these rows hold if they are of usual length: to look at each would take longer than it saves.
        if large and rows.size * (entries.size // max(stored, 1)) >= MIN_PARALLEL:
            for part in prange(parts):
                add_words(entries, indptr, scale, recent, rows, np.uintp(slots), starts, y, part)
        else:
            for part in range(parts):
                add_words(entries, indptr, scale, recent, rows, np.uintp(slots), starts, y, part)

    return event_arrivals


has_many_entries = many(2, MIN_ENTRIES_PARALLEL)
# Whatever arrives in one place is added by one thread, in row order. With one delay for all everything
# arrives in one slot, which threads cannot divide.
csr_event_deliver = by_size(
    (deliver_delayed, deliver_delayed_parallel),
    lambda *arrays: has_many_entries(*arrays) and arrays[4].ndim == 1,
    input_output_aliases={0: 0},
)
csr_event_arrivals = by_size(ARRIVALS, has_many_entries, input_output_aliases={5: 0})
# Threads take whole parts: of one part there is nothing to divide.
compact_event_arrivals = by_size(
    ARRIVALS_OF_WORDS,
    lambda history, entries, indptr, *_: indptr.shape[0] > 1 and reaches(entries.size, MIN_ENTRIES_PARALLEL),
    input_output_aliases={6: 0},
)


# In JAX's own operations XLA sees no order between reading a slot and clearing it, and copies the buffer.
@njit
def read_and_clear(buffer: Any, slot: Any, arrivals: Any, y: Any) -> None:
    """arrivals = y[now]; y[now] = 0."""
    now = y[slot_now(slot, y.shape[0])]
    for j in range(np.uintp(arrivals.size)):
        arrivals[j] = now[j]
        now[j] = 0


def read_slot(*, outs: Any, **_: Any) -> Any:
    """Return the function of arrays that calls the kernel."""
    return numba_kernel(read_and_clear, outs, input_output_aliases={0: 1})


@njit(fastmath=CONTRACT)
def decay_range(decay: Any, y: Any, low: int, high: int) -> None:
    """y *= decay in the columns from `low` to `high` of every channel; decay has one column, or all."""
    one_each = decay.shape[1] == 1
    for channel in range(np.uintp(y.shape[0])):
        trace, factors = y[channel], decay[channel]
        if one_each:
            factor = factors[0]
            for i in range(np.uintp(low), np.uintp(high)):
                trace[i] *= factor
        else:
            for i in range(np.uintp(low), np.uintp(high)):
                trace[i] *= factors[i]


@one_and_all
def EXPSYN_STEP(large: bool) -> Any:
    """Return the function of a pass over g, then of the rows that spiked."""
    add = deliver_parallel if large else deliver

    def step(g: Any, data: Any, indices: Any, indptr: Any, spikes: Any, decay: Any, y: Any) -> None:
        size, parts = y.shape[1], num_threads() if large else 1
        if large and y.size >= MIN_DECAY_PARALLEL:
            for part in prange(parts):
                decay_range(decay, y, size * part // parts, size * (part + 1) // parts)
        else:
            decay_range(decay, y, 0, size)
        add(data, indices, indptr, spikes, y.reshape(-1))

    return step


expsyn_step = by_size(EXPSYN_STEP, has_many_entries, input_output_aliases={0: 0})

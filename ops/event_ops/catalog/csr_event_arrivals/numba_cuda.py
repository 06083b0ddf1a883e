"""What arrives through synapses with delays, on a GPU: the rows of recent events, added to one vector.

A block looks at some words of bits, or flags, and notes those in which something is active; its threads, in
teams, take these in turn, and of each the rows of its events.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numba
import numpy as np
from numba import cuda

from event_ops.cuda_parts.access import at, bounded, is_active, place
from event_ops.cuda_parts.deliver import Delivery, note
from event_ops.cuda_parts.fixed_order import BACKEND
from event_ops.cuda_parts.launch import BLOCK, clear
from event_ops.cuda_parts.slots import slot_now
from event_ops.history import lagged
from ffi_bridge import numba_cuda_callable
from ffi_bridge.registry import get_kernel

BITS = 32


@cuda.jit(device=True)
def bits_of_word(word: Any) -> Any:
    """The events in a word, as bits."""
    return np.uint32(word)


@cuda.jit(device=True)
def bit_of_flag(flag: Any) -> Any:
    """The same of a flag or a number: there is one."""
    return np.uint32(1) if is_active(flag) else np.uint32(0)


@cuda.jit(device=True)
def one_for(_event: Any) -> Any:
    """What an event counts that is a bit."""
    return 1


@cuda.jit(device=True)
def value_for(event: Any) -> Any:
    """What an event counts that is a flag or a number."""
    return event


@cache
def deliver_recent_with(team: int, bits: bool) -> Any:
    """The kernel for one encoding; `team` threads per row."""
    events_in, value_of = (bits_of_word, one_for) if bits else (bit_of_flag, value_for)
    per_word = BITS if bits else 1

    @cuda.jit
    def deliver_recent(
        history: Any, data: Any, indices: Any, indptr: Any, slot: Any, rows: Any, span: Any, y: Any
    ) -> None:
        noted, count = cuda.shared.array(BLOCK, numba.int64), cuda.shared.array(1, numba.int32)
        slots, width = history.shape
        thread, found = cuda.threadIdx.x, -1
        position = cuda.blockIdx.x * span + thread
        if thread < span and position < history.size:
            found = position if is_active(history[position // width, position % width]) else -1
        active, now, nse = note(found, noted, count), slot_now(slot, slots), indices.size
        first, step = cuda.blockIdx.y * team + thread % team, cuda.gridDim.y * team
        for place_of_word in range(thread // team, active, BLOCK // team):
            step_of, word = noted[place_of_word] // width, noted[place_of_word] % width
            event = history[step_of, word]
            value, events = y.dtype.type(value_of(event)), events_in(event)
            delay = (now - step_of) % slots
            while events:
                i = word * per_word + cuda.ffs(events) - 1
                events &= events - np.uint32(1)
                if i < rows:
                    row = i * slots + delay
                    low, high = bounded(indptr[row], nse), bounded(indptr[row + 1], nse)
                    for k in range(low + first, high, step):
                        j, weight = place(indices[k], y.size), at(data, k)
                        if j >= 0:
                            cuda.atomic.add(y, j, weight * value)

    return deliver_recent


def in_fixed_order(*, outs: Any, shape: tuple[int, int]) -> Callable[..., Any]:
    """The callable that sorts all entries by their column."""
    static = {"transpose": True, "deterministic": True, "backend": BACKEND}
    product = get_kernel("csr_event_matvec")

    def call(history: Any, data: Any, indices: Any, indptr: Any, slot: Any) -> Any:
        events, columns = lagged(history, slot, shape[0]), shape[1]
        return product(data, indices, indptr, events, outs=outs, shape=(events.size, columns), **static)

    return call


def generator(
    *, outs: Any, shape: tuple[int, int], deterministic: bool = False, **_: Any
) -> Callable[..., Any]:
    """The callable; the mean length of rows decides how many threads share one."""
    if deterministic:
        return in_fixed_order(outs=outs, shape=shape)

    def launch(history: Any, data: Any, indices: Any, indptr: Any, slot: Any, y: Any, stream: Any) -> None:
        clear(y, stream)
        grid, span, team = Delivery.of(history.size, indptr.size - 1, indices.size)
        kernel = deliver_recent_with(team, history.dtype == np.uint32)
        words = history, data, indices, indptr, slot, np.int64(shape[0]), np.int32(span), y
        kernel[grid, BLOCK, stream](*words)

    run = numba_cuda_callable(launch, outs)

    def call(history: Any, data: Any, indices: Any, indptr: Any, slot: Any) -> Any:
        return run(history, data.reshape(-1), indices, indptr, slot)

    return call

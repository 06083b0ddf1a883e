"""Arrivals through synapses on a GPU: rows of active events, added to sums, a ring buffer or conductances.

The first argument that is updated and y are the same memory.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import jax
import numba
import numpy as np
from numba import cuda

from event_ops.checks.ring_buffer import arrival_places
from event_ops.kernels.numba_cuda.access import (
    at,
    bounded,
    place,
    row_of_flag,
    slot_now,
    stored_weights,
    weight_in_order,
)
from event_ops.kernels.numba_cuda.deliver import Delivery, deliver, make_add_entries, note, team_for
from event_ops.kernels.numba_cuda.fixed_order import event_sums
from event_ops.kernels.numba_cuda.history import recent_sums
from event_ops.kernels.numba_cuda.packed_entries import add_row_of
from event_ops.kernels.numba_cuda.threads import BLOCK, blocks_of
from event_ops.kernels.reference.history import lagged
from ffi_bridge import numba_cuda_callable, numba_cuda_kernel

add_entries = make_add_entries(weight_in_order)


@cuda.jit(device=True)
def add_row(
    data: Any, indices: Any, _i: Any, _first: Any, _width: Any, begin: Any, end: Any, step: Any, value: Any,
    y: Any,
) -> None:  # fmt: skip
    """y[indices[k]] += data[k] * value for every `step`-th k from `begin` up to `end`."""
    add_entries((data,), indices, begin, end, step, value, y)


@cache
def make_delayed_delivery(least: int) -> Any:
    """Return the kernel that adds to y[(now + delays[k]) % slots, indices[k]].

    `least` threads share a row, or more.
    """

    @cuda.jit
    def deliver_delayed(
        data: Any, indices: Any, indptr: Any, delays: Any, spikes: Any, slot: Any, span: Any, y: Any
    ) -> None:
        noted, count = cuda.shared.array(BLOCK, numba.int64), cuda.shared.array(1, numba.int32)
        thread, row = cuda.threadIdx.x, -1
        if thread < span:
            row = row_of_flag(spikes, cuda.blockIdx.x * span + thread, spikes.size)
        active = note(row, noted, count)
        slots, columns = y.shape
        now, team = slot_now(slot, slots), team_for(active, least)
        first, step = cuda.blockIdx.y * team + thread % team, cuda.gridDim.y * team
        for place_of_row in range(thread // team, active, BLOCK // team):
            i = noted[place_of_row]
            spike = y.dtype.type(spikes[i])
            nse = indices.size
            for k in range(bounded(indptr[i], nse) + first, bounded(indptr[i + 1], nse), step):
                delay, j = place(at(delays, k), slots), place(indices[k], columns)
                weight = weight_in_order((data,), k)
                if delay >= 0 and j >= 0:
                    ends = now + delay
                    # Both are below `slots`: to subtract takes less time than a remainder.
                    if ends >= slots:
                        ends -= slots
                    cuda.atomic.add(y, (ends, j), weight * spike)

    return deliver_delayed


def csr_event_deliver(*, outs: Any, deterministic: bool = False, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays; the buffer is updated in place where it is not needed again."""
    flat = jax.ShapeDtypeStruct((outs.size,), outs.dtype)

    def launch(
        buffer: Any,
        data: Any,
        indices: Any,
        indptr: Any,
        delays: Any,
        spikes: Any,
        slot: Any,
        y: Any,
        stream: Any,
    ) -> None:
        grid, span, team = Delivery.of(spikes.size, spikes.size, indices.size)
        kernel = make_delayed_delivery(team)
        kernel[grid, BLOCK, stream](data, indices, indptr, delays, spikes, slot, np.int32(span), y)

    run = numba_cuda_callable(launch, outs, input_output_aliases={0: 0})

    def call(buffer: Any, data: Any, indices: Any, indptr: Any, delays: Any, spikes: Any, slot: Any) -> Any:
        weights = stored_weights(data, outs.dtype)
        if deterministic:  # all entries are sorted by where they arrive
            places = arrival_places(indices, delays, slot, outs)
            return buffer + event_sums(weights, places, indptr, spikes, flat).reshape(outs.shape)
        return run(buffer, weights.reshape(-1), indices, indptr, delays.reshape(-1), spikes, slot)

    return call


def csr_event_arrivals(
    *, outs: Any, shape: tuple[int, int], deterministic: bool = False, **_: Any
) -> Callable[..., Any]:
    """Return the function of arrays; the longer rows are, the more threads share one."""
    run = recent_sums(outs, add_row)

    def call(history: Any, data: Any, indices: Any, indptr: Any, slot: Any, initial: Any) -> Any:
        weights = stored_weights(data, outs.dtype)
        if deterministic:  # all entries are sorted by their column
            events = lagged(history, slot, shape[0], outs.dtype)
            return initial + event_sums(weights, indices, indptr, events, outs)
        # There is one part: `add_row` asks neither where it begins nor how wide it is.
        no_starts = np.zeros(2, np.int32)
        return run(history, weights.reshape(-1), indices, indptr[None], no_starts, slot, initial)

    return call


def compact_event_arrivals(*, outs: Any, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays; the longer rows are, the more threads share one."""

    def call(
        history: Any, entries: Any, indptr: Any, scale: Any, slot: Any, starts: Any, initial: Any
    ) -> Any:
        run = recent_sums(outs, add_row_of(entries))
        return run(history, scale.reshape(-1), entries, indptr, starts, slot, initial)

    return call


@cuda.jit
def read_and_clear(buffer: Any, slot: Any, arrivals: Any, y: Any) -> None:
    """arrivals = y[now]; y[now] = 0, a thread for each element."""
    j = cuda.grid(1)
    if j < arrivals.size:
        now = slot_now(slot, y.shape[0])
        arrivals[j] = y[now, j]
        y[now, j] = 0


def read_slot(*, outs: Any, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays; the buffer is updated in place where it is not needed again."""
    return numba_cuda_kernel(read_and_clear, outs, launch_dims=outs[0].size, input_output_aliases={0: 1})


@cuda.jit
def decay_all(decay: Any, run: Any, y: Any) -> None:
    """y *= decay for a flat y; each factor is that of a run of elements: one, a channel, or all of them."""
    i = cuda.grid(1)
    if i < y.size:
        y[i] *= decay[i // run]


def expsyn_step(*, outs: Any, deterministic: bool = False, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays; g is updated in place where it is not needed again."""
    flat = jax.ShapeDtypeStruct((outs.size,), outs.dtype)

    def launch(
        g: Any, data: Any, indices: Any, indptr: Any, spikes: Any, decay: Any, y: Any, stream: Any
    ) -> None:
        trace = y.ravel()
        run = np.int64(trace.size // max(1, decay.size))
        decay_all[blocks_of(trace.size), BLOCK, stream](decay.ravel(), run, trace)
        deliver(data, indices, indptr, indptr.size - 1, spikes, trace, stream)

    step = numba_cuda_callable(launch, outs, input_output_aliases={0: 0})

    def call(g: Any, data: Any, indices: Any, indptr: Any, spikes: Any, decay: Any) -> Any:
        if deterministic:  # all entries are sorted by the element of g that they reach
            return g * decay + event_sums(data, indices, indptr, spikes, flat).reshape(outs.shape)
        return step(g, data.reshape(-1), indices, indptr, spikes, decay)

    return call

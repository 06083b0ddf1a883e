"""Delivery with delays on a GPU: the rows of the neurons that spiked, into slots of the ring buffer."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import jax
import numba
import numpy as np
from numba import cuda

from event_ops.checks.ring_buffer import arrival_places
from event_ops.kernels.numba_cuda.access import at, bounded, place, row_of_flag, slot_now
from event_ops.kernels.numba_cuda.deliver import Delivery, note, team_for
from event_ops.kernels.numba_cuda.fixed_order import event_sums
from event_ops.kernels.numba_cuda.threads import BLOCK
from ffi_bridge import numba_cuda_callable


@cache
def deliver_delayed_with(least: int) -> Any:
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
                delay, j, weight = place(at(delays, k), slots), place(indices[k], columns), at(data, k)
                if delay >= 0 and j >= 0:
                    ends = now + delay
                    if ends >= slots:
                        ends -= slots
                    cuda.atomic.add(y, (ends, j), weight * spike)

    return deliver_delayed


# buffer and y are the same memory.
def csr_event_deliver(
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
    """Launch the kernel for the mean length of rows."""
    grid, span, team = Delivery.of(spikes.size, spikes.size, indices.size)
    kernel = deliver_delayed_with(team)
    kernel[grid, BLOCK, stream](data, indices, indptr, delays, spikes, slot, np.int32(span), y)


def in_fixed_order(outs: Any) -> Callable[..., Any]:
    """Return the call that sorts all entries by where they arrive."""
    flat = jax.ShapeDtypeStruct((outs.size,), outs.dtype)

    def call(buffer: Any, data: Any, indices: Any, indptr: Any, delays: Any, spikes: Any, slot: Any) -> Any:
        places = arrival_places(indices, delays, slot, outs)
        return buffer + event_sums(data.astype(outs.dtype), places, indptr, spikes, flat).reshape(outs.shape)

    return call


def build(*, outs: Any, deterministic: bool = False, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays; the buffer is updated in place where it is not needed again."""
    if deterministic:
        return in_fixed_order(outs)
    run = numba_cuda_callable(csr_event_deliver, outs, input_output_aliases={0: 0})

    def call(buffer: Any, data: Any, indices: Any, indptr: Any, delays: Any, spikes: Any, slot: Any) -> Any:
        return run(
            buffer, data.reshape(-1).astype(outs.dtype), indices, indptr, delays.reshape(-1), spikes, slot
        )

    return call

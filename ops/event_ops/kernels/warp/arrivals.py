"""Arrivals through synapses in Warp: one thread per row, which ends at once if it is silent."""

from collections.abc import Callable
from typing import Any

import jax
import warp as wp

from event_ops.checks.ring_buffer import arrival_places
from event_ops.kernels.reference.arrivals import Part, arrivals
from event_ops.kernels.reference.history import lagged
from event_ops.kernels.warp.access import Array, Array2d, slot_now
from event_ops.kernels.warp.compact_products import scatter
from event_ops.kernels.warp.scatter import add_event_rows
from ffi_bridge import warp_kernel


def csr_event_deliver(*, outs: Any, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays: of a matrix that has a column for each place of the buffer."""

    def call(buffer: Any, data: Any, indices: Any, indptr: Any, delays: Any, spikes: Any, slot: Any) -> Any:
        places = arrival_places(indices, delays, slot, outs)
        return add_event_rows(buffer, data, places, indptr, spikes)

    return call


def csr_event_arrivals(*, outs: Any, shape: tuple[int, int], **_: Any) -> Callable[..., Any]:
    """Return the function of arrays: of a matrix that has a row for each neuron and delay."""

    def call(history: Any, data: Any, indices: Any, indptr: Any, slot: Any, initial: Any) -> Any:
        events = lagged(history, slot, shape[0], outs.dtype)
        return add_event_rows(initial, data, indices, indptr, events)

    return call


def compact_event_arrivals(*, outs: Any, shape: tuple[int, int], **_: Any) -> Callable[..., Any]:
    """Return the function of arrays, which launches a kernel for each part."""

    def product(part: Part) -> jax.Array:
        sums = jax.ShapeDtypeStruct(part.shape[1:], outs.dtype)
        return scatter(sums, part.shape)(part.entries, part.indptr, part.scale, part.events)

    return arrivals(product, shape, outs.dtype)


@wp.kernel(enable_backward=False)
def read_and_clear(buffer: Array2d, slot: Array, arrivals: Array):
    j = wp.tid()
    now = slot_now(slot, buffer.shape[0])
    arrivals[j] = buffer[now, j]
    buffer[now, j] = buffer.dtype(0)


def read_slot(*, outs: Any, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays that calls the kernel."""
    arrivals, whole = outs
    run = warp_kernel(
        read_and_clear, (whole, arrivals), launch_dims=arrivals.shape, in_out_argnames=["buffer"]
    )
    return lambda buffer, slot: run(buffer, slot)[::-1]


def expsyn_step(**_: Any) -> Callable[..., Any]:
    """Return the function of arrays; the decay is XLA's, which runs it in place and on all threads."""

    def call(g: Any, data: Any, indices: Any, indptr: Any, spikes: Any, decay: Any) -> Any:
        return add_event_rows(g * decay, data, indices, indptr, spikes)

    return call

"""Delivery with delays in Warp: one thread per row, into the buffer itself."""

from collections.abc import Callable
from typing import Any

import warp as wp

from event_ops.kernels.warp.access import Array, Array2d, at, bounded, is_active, place, slot_now
from ffi_bridge import warp_kernel


@wp.kernel(enable_backward=False)
def deliver(
    buffer: Array2d, data: Array, indices: Array, indptr: Array, delays: Array, spikes: Array, slot: Array
):
    i = wp.tid()
    nse, slots = indices.shape[0], buffer.shape[0]
    if is_active(spikes[i]):
        spike = buffer.dtype(spikes[i])
        now = slot_now(slot, slots)
        for k in range(bounded(indptr[i], nse), bounded(indptr[i + 1], nse)):
            delay, j = place(at(delays, k), slots), place(indices[k], buffer.shape[1])
            if delay >= 0 and j >= 0:
                wp.atomic_add(buffer, (now + delay) % slots, j, at(data, k) * spike)


def build(*, outs: Any, shape: tuple[int, int], **_: Any) -> Callable[..., Any]:
    """Return the function of arrays that calls the kernel."""
    run = warp_kernel(deliver, outs, launch_dims=shape[0], in_out_argnames=["buffer"])
    return lambda buffer, data, *rest: run(buffer, data.astype(outs.dtype), *rest)

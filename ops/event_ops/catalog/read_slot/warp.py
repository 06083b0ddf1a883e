"""Reading and clearing a slot of a ring buffer in Warp: one thread per element of the slot."""

from collections.abc import Callable
from typing import Any

import warp as wp

from event_ops.kernels.warp.access import Array, Array2d, slot_now
from ffi_bridge import warp_kernel


@wp.kernel(enable_backward=False)
def read_and_clear(buffer: Array2d, slot: Array, arrivals: Array):
    j = wp.tid()
    now = slot_now(slot, buffer.shape[0])
    arrivals[j] = buffer[now, j]
    buffer[now, j] = buffer.dtype(0)


def build(*, outs: Any, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays that calls the kernel."""
    arrivals, whole = outs
    run = warp_kernel(
        read_and_clear, (whole, arrivals), launch_dims=arrivals.shape, in_out_argnames=["buffer"]
    )
    return lambda buffer, slot: run(buffer, slot)[::-1]

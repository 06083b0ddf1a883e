"""Events as bits in Warp: one thread per word."""

from collections.abc import Callable
from typing import Any

import warp as wp

from ffi_bridge import warp_kernel


@wp.kernel(enable_backward=False)
def pack(events: wp.array(dtype=wp.bool), words: wp.array(dtype=wp.uint32)):
    position = wp.tid()
    word = wp.uint32(0)
    first = 32 * position
    for bit in range(wp.min(32, events.shape[0] - first)):  # first + 32 may be more than an int32 holds
        if events[first + bit]:
            word += wp.uint32(1) << wp.uint32(bit)
    words[position] = word


def build(*, outs: Any, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays that calls the kernel."""
    return warp_kernel(pack, outs)

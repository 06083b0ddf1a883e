"""Bits as events in Warp: one thread per event."""

from collections.abc import Callable
from typing import Any

import warp as wp

from ffi_bridge import warp_kernel


@wp.kernel(enable_backward=False)
def unpack(words: wp.array(dtype=wp.uint32), events: wp.array(dtype=wp.bool)):
    i = wp.tid()
    bit = (words[i // 32] >> wp.uint32(i % 32)) & wp.uint32(1)
    events[i] = bit != wp.uint32(0)


def build(*, outs: Any, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays that calls the kernel."""
    return warp_kernel(unpack, outs)

"""Exponential traces in Warp: one thread per trace."""

from collections.abc import Callable
from typing import Any

import warp as wp

from event_ops.kernels.warp.access import Array, at
from ffi_bridge import warp_kernel


@wp.kernel(enable_backward=False)
def trace_decay(y: Array, spikes: Array, decay: Array):
    i = wp.tid()
    y[i] = y[i] * at(decay, i) + y.dtype(spikes[i])


def build(*, outs: Any, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays; x is updated in place where it is not needed again."""
    return warp_kernel(trace_decay, outs, in_out_argnames=["y"])

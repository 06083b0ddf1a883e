"""Threshold and reset in Warp: one thread per neuron."""

from collections.abc import Callable
from typing import Any

import warp as wp

from event_ops.kernels.warp.access import Array, at
from ffi_bridge import warp_kernel


@wp.kernel(enable_backward=False)
def spike_detect_reset(V: Array, V_th: Array, V_reset: Array, spikes: Array):
    i = wp.tid()
    spike = V[i] > at(V_th, i)
    if spike:
        V[i] = at(V_reset, i)
    spikes[i] = spikes.dtype(spike)


def build(*, outs: Any, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays; V is updated in place where it is not needed again."""
    return warp_kernel(spike_detect_reset, outs, in_out_argnames=["V"])

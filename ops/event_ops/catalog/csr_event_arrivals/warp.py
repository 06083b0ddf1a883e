"""Arrivals through synapses with delays in Warp: one thread per neuron and delay."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from event_ops.kernels.reference.history import lagged
from event_ops.kernels.warp.scatter import IN_ORDER, add_rows
from ffi_bridge import warp_kernel


def build(*, outs: Any, shape: tuple[int, int], **_: Any) -> Callable[..., Any]:
    """Return the function of arrays that calls the kernel."""

    def call(history: Any, data: Any, indices: Any, indptr: Any, slot: Any, initial: Any) -> Any:
        events = lagged(history, slot, shape[0], outs.dtype)
        run = warp_kernel(add_rows, outs, launch_dims=events.shape, in_out_argnames=["y"])
        return run(data.astype(outs.dtype), indices, indptr, events, IN_ORDER, initial)

    return call

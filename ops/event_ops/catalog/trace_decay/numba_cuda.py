"""Exponential traces on a GPU: one thread per trace."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import cuda

from event_ops.kernels.numba_cuda.access import at
from ffi_bridge import numba_cuda_kernel


# x and y are the same memory.
@cuda.jit
def trace_decay(x: Any, spikes: Any, decay: Any, y: Any) -> None:
    i = cuda.grid(1)
    if i < y.size:
        y[i] = y[i] * at(decay, i) + spikes[i]


def build(*, outs: Any, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays; x is updated in place where it is not needed again."""

    def call(x: Any, spikes: Any, decay: Any) -> Any:
        step = numba_cuda_kernel(trace_decay, outs, launch_dims=outs.size, input_output_aliases={0: 0})
        return step(x, spikes, decay.reshape(-1))

    return call

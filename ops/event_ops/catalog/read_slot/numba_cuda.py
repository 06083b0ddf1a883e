"""Reading and clearing a slot of a ring buffer on a GPU: one thread per element of the slot."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import cuda

from event_ops.kernels.numba_cuda.access import slot_now
from ffi_bridge import numba_cuda_kernel


# buffer and y are the same memory.
@cuda.jit
def read_and_clear(buffer: Any, slot: Any, arrivals: Any, y: Any) -> None:
    j = cuda.grid(1)
    if j < arrivals.size:
        now = slot_now(slot, y.shape[0])
        arrivals[j] = y[now, j]
        y[now, j] = 0


def build(*, outs: Any, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays; the buffer is updated in place where it is not needed again."""
    return numba_cuda_kernel(read_and_clear, outs, launch_dims=outs[0].size, input_output_aliases={0: 1})

"""Reading a slot of a ring buffer on the CPU, in place.

In JAX's own operations XLA sees no order between reading the slot and clearing it, and copies the buffer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from event_ops.kernels.numba_cpu.jit import njit
from event_ops.kernels.numba_cpu.ring_buffer import slot_now
from ffi_bridge import numba_kernel


# buffer and y are the same memory; XLA copies buffer first where it is needed again.
@njit
def read_slot(buffer: Any, slot: Any, arrivals: Any, y: Any) -> None:
    now = y[slot_now(slot, y.shape[0])]
    for j in range(np.uintp(arrivals.size)):
        arrivals[j] = now[j]
        now[j] = 0


def build(*, outs: Any, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays that calls the kernel."""
    return numba_kernel(read_slot, outs, input_output_aliases={0: 1})

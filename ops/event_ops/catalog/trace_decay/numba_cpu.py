"""Exponential traces on the CPU: one vectorised pass."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import prange

from event_ops.checks.arrays import reaches
from event_ops.kernels.numba_cpu.access import at, hoist
from event_ops.kernels.numba_cpu.jit import CONTRACT, njit, num_threads
from ffi_bridge import numba_kernel

# x and y are the same memory (XLA copies x first where it is needed again), so that a loop over time steps
# has nothing to copy. The kernels read y: LLVM sees two arrays that overlap, and would not vectorise.

# So many traces fit in the cache; from there on a second thread pays for itself.
MIN_PARALLEL = 1 << 18


@njit(fastmath=CONTRACT)
def decay_range(spikes: Any, decay: Any, y: Any, low: int, high: int) -> None:
    """y = y * decay + spikes from `low` to `high`."""
    factor = hoist(decay)
    for i in range(np.uintp(low), np.uintp(high)):
        y[i] = y[i] * at(factor, i) + y.dtype.type(spikes[i])


@njit
def trace_decay(x: Any, spikes: Any, decay: Any, y: Any) -> None:
    decay_range(spikes, decay, y, 0, x.size)


@njit(parallel=True)
def trace_decay_parallel(x: Any, spikes: Any, decay: Any, y: Any) -> None:
    parts = num_threads()
    for part in prange(parts):
        decay_range(spikes, decay, y, x.size * part // parts, x.size * (part + 1) // parts)


def build(*, outs: Any, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays: on one thread, or on all for many traces."""
    kernel = trace_decay_parallel if reaches(outs.size, MIN_PARALLEL) else trace_decay
    return numba_kernel(kernel, outs, input_output_aliases={0: 0})

"""Exponential synapses on the CPU: one vectorised pass over g, then the rows of the neurons that spiked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import prange

from event_ops.checks.arrays import reaches
from event_ops.kernels.numba_cpu.deliver import MIN_ENTRIES_PARALLEL, deliver, deliver_parallel
from event_ops.kernels.numba_cpu.jit import CONTRACT, njit, num_threads
from ffi_bridge import numba_kernel

# Below this many elements the decay takes less time than a parallel launch.
MIN_PARALLEL = 1 << 18

# g and y are the same memory (XLA copies g first where it is needed again), so that a loop over time steps
# has nothing to copy. The kernels read y: LLVM sees two arrays that overlap, and would not vectorise.


@njit(fastmath=CONTRACT)
def decay_range(decay: Any, y: Any, low: int, high: int) -> None:
    """y *= decay in the columns from `low` to `high` of every channel; decay has one column, or all."""
    one_each = decay.shape[1] == 1
    for channel in range(np.uintp(y.shape[0])):
        trace, factors = y[channel], decay[channel]
        if one_each:
            factor = factors[0]
            for i in range(np.uintp(low), np.uintp(high)):
                trace[i] *= factor
        else:
            for i in range(np.uintp(low), np.uintp(high)):
                trace[i] *= factors[i]


@njit
def expsyn_step(g: Any, data: Any, indices: Any, indptr: Any, spikes: Any, decay: Any, y: Any) -> None:
    decay_range(decay, y, 0, y.shape[1])
    deliver(data, indices, indptr, spikes, y.reshape(-1))


@njit(parallel=True)
def expsyn_step_parallel(
    g: Any, data: Any, indices: Any, indptr: Any, spikes: Any, decay: Any, y: Any
) -> None:
    size, parts = y.shape[1], num_threads()
    if y.size < MIN_PARALLEL:
        decay_range(decay, y, 0, size)
    else:
        for part in prange(parts):
            decay_range(decay, y, size * part // parts, size * (part + 1) // parts)
    deliver_parallel(data, indices, indptr, spikes, y.reshape(-1))


def build(*, outs: Any, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays: on one thread, or on all for many entries."""

    def call(g: Any, data: Any, indices: Any, indptr: Any, spikes: Any, decay: Any) -> Any:
        kernel = expsyn_step_parallel if reaches(indices.size, MIN_ENTRIES_PARALLEL) else expsyn_step
        run = numba_kernel(kernel, outs, input_output_aliases={0: 0})
        return run(g, data, indices, indptr, spikes, decay)

    return call

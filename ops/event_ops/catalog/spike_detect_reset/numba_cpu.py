"""Threshold and reset on the CPU: one vectorised pass without branches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import prange

from event_ops.checks.arrays import reaches
from event_ops.kernels.numba_cpu.access import at, hoist, stored_spikes
from event_ops.kernels.numba_cpu.jit import njit, num_threads
from ffi_bridge import numba_kernel

# So many neurons fit in the cache; from there on a second thread pays for itself.
MIN_PARALLEL = 1 << 18


# V_m and V are the same memory (XLA copies V_m first where it is needed again). The kernels read V: they
# would not vectorise otherwise, since LLVM sees two arrays that overlap.


@njit
def detect_range(V_th: Any, V_reset: Any, V: Any, spikes: Any, low: int, high: int) -> None:
    """Test and reset the neurons from `low` to `high`; parameters are single values or one per neuron."""
    threshold, reset = hoist(V_th), hoist(V_reset)
    for i in range(np.uintp(low), np.uintp(high)):
        old = V[i]
        spike = old > at(threshold, i)
        V[i] = at(reset, i) if spike else old
        spikes[i] = spike


@njit
def spike_detect_reset(V_m: Any, V_th: Any, V_reset: Any, V: Any, spikes: Any) -> None:
    detect_range(V_th, V_reset, V, stored_spikes(spikes), 0, V.size)


@njit(parallel=True)
def spike_detect_reset_parallel(V_m: Any, V_th: Any, V_reset: Any, V: Any, spikes: Any) -> None:
    stored, parts = stored_spikes(spikes), num_threads()
    for part in prange(parts):
        detect_range(V_th, V_reset, V, stored, V.size * part // parts, V.size * (part + 1) // parts)


def build(*, outs: Any, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays: on one thread, or on all for many neurons."""
    kernel = spike_detect_reset_parallel if reaches(outs[0].size, MIN_PARALLEL) else spike_detect_reset
    return numba_kernel(kernel, outs, input_output_aliases={0: 0})

"""Threshold and reset on a GPU: a thread has a few neurons, and writes V only where one spikes.

The kernel that is made of the term writes every V. Sectors of this one hold 0.93 of its bytes where a fifth
of the neurons spikes, and 5 of its 9 bytes for a neuron where none does.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import cuda

from event_ops.kernels.numba_cuda.access import at
from event_ops.kernels.numba_cuda.wide import is_aligned, wide_load, wide_store
from ffi_bridge import numba_cuda_kernel

WIDTH = 4  # neurons of a thread


@cuda.jit(device=True)
def detected(v: Any, i: Any, V_th: Any, V_reset: Any) -> Any:
    """Return whether neuron i spikes, whose V is v, and its V afterwards."""
    spike = v > at(V_th, i)
    return spike, at(V_reset, i) if spike else v


# V_m and V are the same memory.
@cuda.jit
def spike_detect_reset(V_m: Any, V_th: Any, V_reset: Any, V: Any, spikes: Any) -> None:
    begin = WIDTH * cuda.grid(1)
    if begin + WIDTH <= V.size and is_aligned(V) and is_aligned(spikes):
        v = wide_load(V, begin, WIDTH)
        a, b = detected(v[0], begin, V_th, V_reset), detected(v[1], begin + 1, V_th, V_reset)
        c, d = detected(v[2], begin + 2, V_th, V_reset), detected(v[3], begin + 3, V_th, V_reset)
        wide_store(spikes, begin, (a[0], b[0], c[0], d[0]))
        if a[0] or b[0] or c[0] or d[0]:
            wide_store(V, begin, (a[1], b[1], c[1], d[1]))
    else:
        for i in range(begin, min(begin + WIDTH, V.size)):
            spike, after = detected(V[np.uint64(i)], i, V_th, V_reset)
            spikes[np.uint64(i)] = spike
            if spike:
                V[np.uint64(i)] = after


def build(*, outs: Any, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays; V is updated in place where it is not needed again."""

    def call(V_m: Any, V_th: Any, V_reset: Any) -> Any:
        threads = -(-outs[0].size // WIDTH)
        step = numba_cuda_kernel(spike_detect_reset, outs, launch_dims=threads, input_output_aliases={0: 0})
        return step(V_m, V_th.reshape(-1), V_reset.reshape(-1))

    return call

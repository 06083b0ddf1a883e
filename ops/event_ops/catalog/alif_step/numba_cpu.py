"""One step of adaptive LIF neurons on the CPU: one vectorised pass without branches."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numba import prange

from event_ops.checks.arrays import reaches
from event_ops.kernels.numba_cpu.access import at, hoist, stored_spikes
from event_ops.kernels.numba_cpu.jit import CONTRACT, njit, num_threads
from ffi_bridge import numba_kernel

# Below this many neurons the step takes less time than a parallel launch.
MIN_PARALLEL = 1 << 17


# Each state is the same memory as its output (XLA copies it first where it is needed again), so that a loop
# over time steps has nothing to copy. The kernels read the outputs: they would not vectorise otherwise,
# since LLVM sees two arrays that overlap.


@njit(fastmath=CONTRACT)
def step_range(
    I_syn: Any, decay: Any, decay_a: Any, beta: Any, E_L: Any, V_th: Any, V_reset: Any, t_ref: Any, dt: Any,
    jump: Any, V: Any, held_for: Any, adaptation: Any, spikes: Any, low: int, high: int,
) -> None:  # fmt: skip
    """Step the neurons from `low` to `high`; parameters are single values or one per neuron."""
    current, factor, rest, step = hoist(I_syn), hoist(decay), hoist(E_L), hoist(dt)
    threshold, reset, refractory = hoist(V_th), hoist(V_reset), hoist(t_ref)
    factor_a, rise, pushed = hoist(decay_a), hoist(beta), hoist(jump)
    zero, half, one = V.dtype.type(0), V.dtype.type(0.5), V.dtype.type(1)
    for i in range(np.uintp(low), np.uintp(high)):
        old, left, adapted = V[i], held_for[i], adaptation[i]
        held = left > half * at(step, i)
        V_inf = at(rest, i) + at(current, i)
        new = old if held else V_inf + (old - V_inf) * at(factor, i) + at(pushed, i)
        spike = (new > at(threshold, i) + at(rise, i) * adapted) & (not held)
        remaining = max(left - at(step, i), zero) if held else zero
        V[i] = at(reset, i) if spike else new
        held_for[i] = at(refractory, i) if spike else remaining
        adaptation[i] = adapted * at(factor_a, i) + (one if spike else zero)
        spikes[i] = spike


@cache
def kernel(large: bool) -> Any:
    """Return the kernel for one thread, or for all threads."""

    @njit(parallel=large)
    def alif_step(
        V_m: Any, refractory: Any, a: Any, I_syn: Any, decay: Any, decay_a: Any, beta: Any, E_L: Any,
        V_th: Any, V_reset: Any, t_ref: Any, dt: Any, jump: Any,
        V: Any, held_for: Any, adaptation: Any, spikes: Any,
    ) -> None:  # fmt: skip
        stored, parts = stored_spikes(spikes), num_threads() if large else 1
        for part in prange(parts):
            step_range(
                I_syn, decay, decay_a, beta, E_L, V_th, V_reset, t_ref, dt, jump,
                V, held_for, adaptation, stored, V.size * part // parts, V.size * (part + 1) // parts,
            )  # fmt: skip

    return alif_step


def build(*, outs: Any, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays: on one thread, or on all for many neurons."""
    large = reaches(outs[0].size, MIN_PARALLEL)
    return numba_kernel(kernel(large), outs, input_output_aliases={0: 0, 1: 1, 2: 2})

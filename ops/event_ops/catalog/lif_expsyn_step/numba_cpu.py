"""One step of LIF neurons and their currents on the CPU: one vectorised pass without branches."""

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
MIN_PARALLEL = 1 << 14


# V_m and V are the same memory, and so are refractory and held_for, and I_syn and current (XLA copies them
# first where they are needed again). The kernels read the outputs: they would not vectorise otherwise.


@njit(fastmath=CONTRACT)
def step_range(
    decay: Any, decay_syn: Any, gain: Any, V_inf: Any, V_th: Any, V_reset: Any, t_ref: Any, dt: Any,
    jump: Any, V: Any, held_for: Any, current: Any, spikes: Any, low: int, high: int,
) -> None:  # fmt: skip
    """Step the neurons from `low` to `high`; parameters are single values or one per neuron."""
    factor, fading, moved, rest = hoist(decay), hoist(decay_syn), hoist(gain), hoist(V_inf)
    threshold, reset, refractory, step = hoist(V_th), hoist(V_reset), hoist(t_ref), hoist(dt)
    thrust = hoist(jump)
    zero, half = V.dtype.type(0), V.dtype.type(0.5)
    for i in range(np.uintp(low), np.uintp(high)):
        old, left, pushed = V[i], held_for[i], current[i]
        held = left > half * at(step, i)
        free = at(rest, i) + (old - at(rest, i)) * at(factor, i) + at(moved, i) * pushed + at(thrust, i)
        new = old if held else free
        spike = (new > at(threshold, i)) & (not held)
        remaining = max(left - at(step, i), zero) if held else zero
        V[i] = at(reset, i) if spike else new
        held_for[i] = at(refractory, i) if spike else remaining
        current[i] = pushed * at(fading, i)
        spikes[i] = spike


@cache
def kernel(large: bool) -> Any:
    """Return the kernel for one thread, or for all threads."""

    @njit(parallel=large)
    def lif_expsyn_step(
        V_m: Any, refractory: Any, I_syn: Any, decay: Any, decay_syn: Any, gain: Any, V_inf: Any, V_th: Any,
        V_reset: Any, t_ref: Any, dt: Any, jump: Any, V: Any, held_for: Any, current: Any, spikes: Any,
    ) -> None:  # fmt: skip
        stored, parts = stored_spikes(spikes), num_threads() if large else 1
        for part in prange(parts):
            step_range(
                decay, decay_syn, gain, V_inf, V_th, V_reset, t_ref, dt, jump,
                V, held_for, current, stored, V.size * part // parts, V.size * (part + 1) // parts,
            )  # fmt: skip

    return lif_expsyn_step


def build(*, outs: Any, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays: on one thread, or on all for many neurons."""
    large = reaches(outs[0].size, MIN_PARALLEL)
    return numba_kernel(kernel(large), outs, input_output_aliases={0: 0, 1: 1, 2: 2})

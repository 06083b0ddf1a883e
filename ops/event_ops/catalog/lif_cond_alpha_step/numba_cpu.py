"""One step of LIF neurons and their conductances on the CPU: one vectorised pass without branches."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numba import prange

from event_ops.checks.arrays import reaches
from event_ops.kernels.numba_cpu.access import at, hoist, stored_spikes
from event_ops.kernels.numba_cpu.jit import CONTRACT, njit, num_threads
from event_ops.kernels.numba_cpu.membrane import fire, relax
from ffi_bridge import numba_kernel

# Below this many neurons the step takes less time than a parallel launch.
MIN_PARALLEL = 1 << 14


# Each state is the same memory as its output (XLA copies it first where it is needed again). The kernels read
# the outputs: they would not vectorise otherwise, since LLVM sees two arrays that overlap.


@njit(fastmath=CONTRACT)
def step_range(
    decay_ex: Any, decay_in: Any, mean_ex: Any, mean_in: Any, rise_ex: Any, rise_in: Any, g_L: Any, leak: Any,
    E_ex: Any, E_in: Any, rate: Any, V_th: Any, V_reset: Any, t_ref: Any, dt: Any,
    V: Any, held_for: Any, ex: Any, into: Any, d_ex: Any, d_in: Any, spikes: Any, low: int, high: int,
) -> None:  # fmt: skip
    """Step the neurons from `low` to `high`; parameters are single values or one per neuron."""
    fading_ex, fading_in, part_ex, part_in = hoist(decay_ex), hoist(decay_in), hoist(mean_ex), hoist(mean_in)
    ramp_ex, ramp_in = hoist(rise_ex), hoist(rise_in)
    g, rest, to_ex, to_in, speed = hoist(g_L), hoist(leak), hoist(E_ex), hoist(E_in), hoist(rate)
    threshold, reset, refractory, step = hoist(V_th), hoist(V_reset), hoist(t_ref), hoist(dt)
    for i in range(np.uintp(low), np.uintp(high)):
        g_ex, g_in, dg_ex, dg_in = ex[i], into[i], d_ex[i], d_in[i]
        free = relax(
            V[i],
            g_ex * at(part_ex, i) + dg_ex * at(ramp_ex, i), g_in * at(part_in, i) + dg_in * at(ramp_in, i),
            at(g, i), at(rest, i), at(to_ex, i), at(to_in, i), at(speed, i),
        )  # fmt: skip
        fire(V, held_for, spikes, free, at(threshold, i), at(reset, i), at(refractory, i), at(step, i), i)
        ex[i] = (g_ex + at(step, i) * dg_ex) * at(fading_ex, i)
        into[i] = (g_in + at(step, i) * dg_in) * at(fading_in, i)
        d_ex[i], d_in[i] = dg_ex * at(fading_ex, i), dg_in * at(fading_in, i)


@cache
def kernel(large: bool) -> Any:
    """Return the kernel for one thread, or for all threads."""

    @njit(parallel=large)
    def lif_cond_alpha_step(
        V_m: Any, refractory: Any, g_ex: Any, g_in: Any, dg_ex: Any, dg_in: Any, decay_ex: Any, decay_in: Any,
        mean_ex: Any, mean_in: Any, rise_ex: Any, rise_in: Any, g_L: Any, leak: Any, E_ex: Any, E_in: Any,
        rate: Any, V_th: Any, V_reset: Any, t_ref: Any, dt: Any,
        V: Any, held_for: Any, ex: Any, into: Any, d_ex: Any, d_in: Any, spikes: Any,
    ) -> None:  # fmt: skip
        stored, parts = stored_spikes(spikes), num_threads() if large else 1
        for part in prange(parts):
            step_range(
                decay_ex, decay_in, mean_ex, mean_in, rise_ex, rise_in, g_L, leak, E_ex, E_in, rate,
                V_th, V_reset, t_ref, dt, V, held_for, ex, into, d_ex, d_in, stored,
                V.size * part // parts, V.size * (part + 1) // parts,
            )  # fmt: skip

    return lif_cond_alpha_step


def build(*, outs: Any, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays: on one thread, or on all for many neurons."""
    large = reaches(outs[0].size, MIN_PARALLEL)
    return numba_kernel(kernel(large), outs, input_output_aliases={i: i for i in range(6)})

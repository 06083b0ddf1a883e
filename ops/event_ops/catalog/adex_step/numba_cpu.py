"""One step of adaptive exponential neurons on the CPU: vectorised passes without branches, one per substep.

They go through a block of neurons, which stays in the nearest cache.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Final

import numpy as np
from numba import prange

from event_ops.checks.arrays import reaches
from event_ops.kernels.numba_cpu.access import at, hoist, stored_spikes
from event_ops.kernels.numba_cpu.division import over
from event_ops.kernels.numba_cpu.exponential import exp
from event_ops.kernels.numba_cpu.jit import CONTRACT, REORDER, njit, num_threads
from event_ops.kernels.numba_cpu.membrane import is_held
from ffi_bridge import numba_kernel

# Below this many neurons the step takes less time than a parallel launch.
MIN_PARALLEL = 1 << 11

BLOCK: Final = 512


# Each state is the same memory as its output (XLA copies it first where it is needed again). The kernels read
# the outputs: they would not vectorise otherwise, since LLVM sees two arrays that overlap.


# Sums of products, whose order is the faster one.
@njit(fastmath=REORDER)
def current(
    V: Any, w: Any, g_ex: Any, g_in: Any, g_L: Any, leak: Any, E_ex: Any, E_in: Any, Delta_T: Any, V_th: Any
) -> Any:
    """Return the sum of all currents into a neuron."""
    upstroke = g_L * Delta_T * exp(over(V - V_th, Delta_T))
    return leak - g_L * V + upstroke - w + g_ex * (E_ex - V) + g_in * (E_in - V)


@njit
def any_spike(before: Any, fired: Any) -> Any:
    """Return whether there was a spike, or is one now."""
    return fired | (before > 0)


@njit
def one_more(before: Any, fired: Any) -> Any:
    """Return how many spikes there are."""
    return before + np.int32(fired)


@njit(fastmath=CONTRACT)
def substep(
    decay_ex: Any, decay_in: Any, rate: Any, rate_w: Any, g_L: Any, leak: Any, E_ex: Any, E_in: Any,
    Delta_T: Any, V_th: Any, a: Any, E_L: Any, b: Any, V_peak: Any, V_reset: Any, t_ref: Any, dt: Any,
    V: Any, held_for: Any, ex: Any, into: Any, w: Any, spikes: Any, tally: Any, low: int, high: int,
) -> None:  # fmt: skip
    """Move the neurons from `low` to `high` by a substep; parameters are single values or one per neuron.

    tally: what a spike makes of the spikes before.
    """
    fading_ex, fading_in, speed, speed_w = hoist(decay_ex), hoist(decay_in), hoist(rate), hoist(rate_w)
    leaky, rest, to_ex, to_in, steepness = hoist(g_L), hoist(leak), hoist(E_ex), hoist(E_in), hoist(Delta_T)
    threshold, pull, around, rise = hoist(V_th), hoist(a), hoist(E_L), hoist(b)
    peak, reset, refractory, step = hoist(V_peak), hoist(V_reset), hoist(t_ref), hoist(dt)
    zero, half = V.dtype.type(0), V.dtype.type(0.5)
    for i in range(np.uintp(low), np.uintp(high)):
        fired_before = spikes[i] > 0
        held = is_held(held_for[i], at(step, i)) | (fired_before & is_held(at(refractory, i), at(step, i)))
        old, old_w, g_ex, g_in = V[i], w[i], ex[i], into[i]
        later_ex, later_in = g_ex * at(fading_ex, i), g_in * at(fading_in, i)
        bounded = at(peak, i) if old > at(peak, i) else old
        dV = at(speed, i) * current(
            bounded, old_w, g_ex, g_in,
            at(leaky, i), at(rest, i), at(to_ex, i), at(to_in, i), at(steepness, i), at(threshold, i),
        )  # fmt: skip
        dV = zero if held else dV
        dw = at(speed_w, i) * (at(pull, i) * (bounded - at(around, i)) - old_w)
        end, end_w = old + dV, old_w + dw
        end = at(peak, i) if end > at(peak, i) else end
        dV += at(speed, i) * current(
            end, end_w, later_ex, later_in,
            at(leaky, i), at(rest, i), at(to_ex, i), at(to_in, i), at(steepness, i), at(threshold, i),
        )  # fmt: skip
        dw += at(speed_w, i) * (at(pull, i) * (end - at(around, i)) - end_w)
        new, new_w = (old if held else old + half * dV), old_w + half * dw
        fired = (new > at(peak, i)) & (not held)
        V[i] = at(reset, i) if fired else new
        w[i] = new_w + (at(rise, i) if fired else zero)
        ex[i], into[i] = later_ex, later_in
        spikes[i] = tally(spikes[i], fired)


@njit(fastmath=CONTRACT)
def begin(spikes: Any, low: int, high: int) -> None:
    """Clear the spikes from `low` to `high`."""
    for i in range(np.uintp(low), np.uintp(high)):
        spikes[i] = 0


@njit(fastmath=CONTRACT)
def count_down(t_ref: Any, dt: Any, held_for: Any, spikes: Any, low: int, high: int) -> None:
    """Set the refractory times from `low` to `high` to what is left of them, or, at a spike, to t_ref."""
    refractory, step = hoist(t_ref), hoist(dt)
    zero = held_for.dtype.type(0)
    for i in range(np.uintp(low), np.uintp(high)):
        left = held_for[i]
        remaining = max(left - at(step, i), zero) if is_held(left, at(step, i)) else zero
        held_for[i] = at(refractory, i) if spikes[i] > 0 else remaining


@cache
def kernel(large: bool, substeps: int, counted: bool) -> Any:
    """Return the kernel for one thread, or for all threads, with so many substeps; `counted`: of spikes."""
    tally = one_more if counted else any_spike

    @njit(fastmath=CONTRACT)
    def step_range(
        decay_ex: Any, decay_in: Any, rate: Any, rate_w: Any, g_L: Any, leak: Any, E_ex: Any, E_in: Any,
        Delta_T: Any, V_th: Any, a: Any, E_L: Any, b: Any, V_peak: Any, V_reset: Any, t_ref: Any, dt: Any,
        V: Any, held_for: Any, ex: Any, into: Any, w: Any, spikes: Any, low: int, high: int,
    ) -> None:  # fmt: skip
        for first in range(low, high, BLOCK):
            end = min(first + BLOCK, high)
            begin(spikes, first, end)
            for _ in range(substeps):
                substep(
                    decay_ex, decay_in, rate, rate_w, g_L, leak, E_ex, E_in, Delta_T, V_th, a, E_L, b,
                    V_peak, V_reset, t_ref, dt, V, held_for, ex, into, w, spikes, tally, first, end,
                )  # fmt: skip
            count_down(t_ref, dt, held_for, spikes, first, end)

    @njit(parallel=large)
    def adex_step(
        V_m: Any, refractory: Any, g_ex: Any, g_in: Any, w: Any, decay_ex: Any, decay_in: Any, rate: Any,
        rate_w: Any, g_L: Any, leak: Any, E_ex: Any, E_in: Any, Delta_T: Any, V_th: Any, a: Any, E_L: Any,
        b: Any, V_peak: Any, V_reset: Any, t_ref: Any, dt: Any,
        V: Any, held_for: Any, ex: Any, into: Any, adaptation: Any, spikes: Any,
    ) -> None:  # fmt: skip
        stored, parts = stored_spikes(spikes), num_threads() if large else 1
        for part in prange(parts):
            step_range(
                decay_ex, decay_in, rate, rate_w, g_L, leak, E_ex, E_in, Delta_T, V_th, a, E_L, b, V_peak,
                V_reset, t_ref, dt, V, held_for, ex, into, adaptation, stored,
                V.size * part // parts, V.size * (part + 1) // parts,
            )  # fmt: skip

    return adex_step


def build(*, outs: Any, substeps: int, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays: on one thread, or on all for many neurons."""
    large = reaches(outs[0].size, MIN_PARALLEL)
    return numba_kernel(
        kernel(large, substeps, outs[5].dtype.kind == "i"),
        outs,
        input_output_aliases={i: i for i in range(5)},
    )

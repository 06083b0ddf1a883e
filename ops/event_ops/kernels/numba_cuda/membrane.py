"""One step of a membrane with a threshold, a reset and a refractory time, and how conductances move it."""

from __future__ import annotations

import math
from typing import Any

from numba import cuda

from event_ops.kernels.numba_cuda.access import at


@cuda.jit(device=True)
def fire(V: Any, held_for: Any, free: Any, threshold: Any, V_reset: Any, t_ref: Any, dt: Any, i: Any) -> Any:
    """Update V and held_for of neuron i, which moves to `free` unless held; return whether it spikes."""
    zero, half = V.dtype.type(0), V.dtype.type(0.5)
    left, step = held_for[i], at(dt, i)
    held = left > half * step
    new = V[i] if held else free
    spike = new > threshold and not held
    remaining = max(left - step, zero) if held else zero
    V[i] = at(V_reset, i) if spike else new
    held_for[i] = at(t_ref, i) if spike else remaining
    return spike


@cuda.jit(device=True)
def step_membrane(
    V: Any, held_for: Any, I_syn: Any, decay: Any, E_L: Any, threshold: Any,
    V_reset: Any, t_ref: Any, dt: Any, jump: Any, i: Any,
) -> Any:  # fmt: skip
    """Update V and held_for of neuron i, whose threshold is a number; return whether it spikes."""
    V_inf = at(E_L, i) + at(I_syn, i)
    free = V_inf + (V[i] - V_inf) * at(decay, i) + at(jump, i)
    return fire(V, held_for, free, threshold, V_reset, t_ref, dt, i)


@cuda.jit(device=True)
def relax(V: Any, g_ex: Any, g_in: Any, g_L: Any, leak: Any, E_ex: Any, E_in: Any, rate: Any) -> Any:
    """Return where conductances of a step move V: see kernels/reference/membrane.py."""
    total = g_L + g_ex + g_in
    V_inf = (leak + g_ex * E_ex + g_in * E_in) / total
    return V_inf + (V - V_inf) * math.exp(-rate * total)

"""A membrane with a threshold, a reset and a refractory time, and how conductances move it."""

from typing import Any

import warp as wp

from event_ops.kernels.warp.access import Array, at


@wp.func
def fire(
    V: Array, held_for: Array, free: Any, threshold: Any, V_reset: Array, t_ref: Array, dt: Array, i: wp.int32
) -> bool:
    """Update V and held_for of neuron i, which moves to `free` unless held; return whether it spikes."""
    left = held_for[i]
    held = left > V.dtype(0.5) * at(dt, i)
    new = wp.where(held, V[i], free)
    spike = new > threshold and not held
    remaining = wp.where(held, wp.max(left - at(dt, i), V.dtype(0)), V.dtype(0))
    V[i] = wp.where(spike, at(V_reset, i), new)
    held_for[i] = wp.where(spike, at(t_ref, i), remaining)
    return spike


@wp.func
def relax(V: Any, g_ex: Any, g_in: Any, g_L: Any, leak: Any, E_ex: Any, E_in: Any, rate: Any) -> Any:
    """Return where conductances of a step move V: see kernels/reference/membrane.py."""
    total = g_L + g_ex + g_in
    V_inf = (leak + g_ex * E_ex + g_in * E_in) / total
    return V_inf + (V - V_inf) * wp.exp(-rate * total)

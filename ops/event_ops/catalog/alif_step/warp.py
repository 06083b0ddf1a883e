"""One step of adaptive LIF neurons in Warp: one thread per neuron."""

from collections.abc import Callable
from typing import Any

import warp as wp

from event_ops.kernels.warp.access import Array, at
from ffi_bridge import warp_kernel


@wp.kernel(enable_backward=False)
def alif_step(
    V: Array, held_for: Array, a: Array, I_syn: Array, decay: Array, decay_a: Array, beta: Array,
    E_L: Array, V_th: Array, V_reset: Array, t_ref: Array, dt: Array, jump: Array, spikes: Array,
):  # fmt: skip
    i = wp.tid()
    old = V[i]
    left = held_for[i]
    held = left > V.dtype(0.5) * at(dt, i)
    V_inf = at(E_L, i) + at(I_syn, i)
    new = wp.where(held, old, V_inf + (old - V_inf) * at(decay, i) + at(jump, i))
    spike = new > at(V_th, i) + at(beta, i) * a[i] and not held
    remaining = wp.where(held, wp.max(left - at(dt, i), V.dtype(0)), V.dtype(0))
    V[i] = wp.where(spike, at(V_reset, i), new)
    held_for[i] = wp.where(spike, at(t_ref, i), remaining)
    a[i] = a[i] * at(decay_a, i) + V.dtype(spike)
    spikes[i] = spikes.dtype(spike)


def build(*, outs: Any, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays; the states are updated in place where they are not needed again."""
    return warp_kernel(alif_step, outs, in_out_argnames=["V", "held_for", "a"])

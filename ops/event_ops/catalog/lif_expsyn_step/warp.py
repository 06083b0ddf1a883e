"""One step of LIF neurons and their currents in Warp: one thread per neuron."""

from collections.abc import Callable
from typing import Any

import warp as wp

from event_ops.kernels.warp.access import Array, at
from ffi_bridge import warp_kernel


@wp.kernel(enable_backward=False)
def lif_expsyn_step(
    V: Array, held_for: Array, current: Array, decay: Array, decay_syn: Array, gain: Array, V_inf: Array,
    V_th: Array, V_reset: Array, t_ref: Array, dt: Array, jump: Array, spikes: Array,
):  # fmt: skip
    i = wp.tid()
    old = V[i]
    left = held_for[i]
    pushed = current[i]
    held = left > V.dtype(0.5) * at(dt, i)
    rest = at(V_inf, i)
    free = rest + (old - rest) * at(decay, i) + at(gain, i) * pushed + at(jump, i)
    new = wp.where(held, old, free)
    spike = new > at(V_th, i) and not held
    remaining = wp.where(held, wp.max(left - at(dt, i), V.dtype(0)), V.dtype(0))
    V[i] = wp.where(spike, at(V_reset, i), new)
    held_for[i] = wp.where(spike, at(t_ref, i), remaining)
    current[i] = pushed * at(decay_syn, i)
    spikes[i] = spikes.dtype(spike)


def build(*, outs: Any, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays; the states are updated in place where they are not needed again."""
    return warp_kernel(lif_expsyn_step, outs, in_out_argnames=["V", "held_for", "current"])

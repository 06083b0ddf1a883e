"""One step of LIF neurons and their conductances in Warp: one thread per neuron."""

from collections.abc import Callable
from typing import Any

import warp as wp

from event_ops.kernels.warp.access import Array, at
from event_ops.kernels.warp.membrane import fire, relax
from ffi_bridge import warp_kernel


@wp.kernel(enable_backward=False)
def lif_cond_alpha_step(
    V: Array, held_for: Array, g_ex: Array, g_in: Array, dg_ex: Array, dg_in: Array, decay_ex: Array,
    decay_in: Array, mean_ex: Array, mean_in: Array, rise_ex: Array, rise_in: Array, g_L: Array, leak: Array,
    E_ex: Array, E_in: Array, rate: Array, V_th: Array, V_reset: Array, t_ref: Array, dt: Array,
    spikes: Array,
):  # fmt: skip
    i = wp.tid()
    free = relax(
        V[i], g_ex[i] * at(mean_ex, i) + dg_ex[i] * at(rise_ex, i),
        g_in[i] * at(mean_in, i) + dg_in[i] * at(rise_in, i),
        at(g_L, i), at(leak, i), at(E_ex, i), at(E_in, i), at(rate, i),
    )  # fmt: skip
    spike = fire(V, held_for, free, at(V_th, i), V_reset, t_ref, dt, i)
    g_ex[i] = (g_ex[i] + at(dt, i) * dg_ex[i]) * at(decay_ex, i)
    g_in[i] = (g_in[i] + at(dt, i) * dg_in[i]) * at(decay_in, i)
    dg_ex[i] = dg_ex[i] * at(decay_ex, i)
    dg_in[i] = dg_in[i] * at(decay_in, i)
    spikes[i] = spikes.dtype(spike)


def build(*, outs: Any, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays; the states are updated in place where they are not needed again."""
    states = ["V", "held_for", "g_ex", "g_in", "dg_ex", "dg_in"]
    return warp_kernel(lif_cond_alpha_step, outs, in_out_argnames=states)

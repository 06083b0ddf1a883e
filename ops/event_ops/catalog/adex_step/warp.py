"""One step of adaptive exponential neurons in Warp: one thread per neuron."""

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import warp as wp

from event_ops.kernels.warp.access import Array, at
from ffi_bridge import warp_kernel


@wp.func
def current(
    V: Any, w: Any, g_ex: Any, g_in: Any, g_L: Any, leak: Any, E_ex: Any, E_in: Any, Delta_T: Any, V_th: Any
) -> Any:
    """Return the sum of all currents into a neuron."""
    upstroke = g_L * Delta_T * wp.exp((V - V_th) / Delta_T)
    return leak - g_L * V + upstroke - w + g_ex * (E_ex - V) + g_in * (E_in - V)


@wp.kernel(enable_backward=False)
def adex_step(
    V: Array, held_for: Array, g_ex: Array, g_in: Array, w: Array, decay_ex: Array, decay_in: Array,
    rate: Array, rate_w: Array, g_L: Array, leak: Array, E_ex: Array, E_in: Array, Delta_T: Array,
    V_th: Array, a: Array, E_L: Array, b: Array, V_peak: Array, V_reset: Array, t_ref: Array, dt: Array,
    substeps: wp.array(dtype=wp.int32), most: wp.array(dtype=wp.int32), spikes: Array,
):  # fmt: skip
    i = wp.tid()
    half = V.dtype(0.5)
    peak = at(V_peak, i)
    new = V[i]
    adapted = w[i]
    excited = g_ex[i]
    inhibited = g_in[i]
    left = held_for[i]
    held = left > half * at(dt, i)
    remaining = wp.where(held, wp.max(left - at(dt, i), V.dtype(0)), V.dtype(0))
    number = int(0)  # noqa: RUF046, UP018 - a loop may not change a literal
    for _ in range(substeps[0]):
        bounded = wp.where(new > peak, peak, new)
        dV = at(rate, i) * current(
            bounded, adapted, excited, inhibited,
            at(g_L, i), at(leak, i), at(E_ex, i), at(E_in, i), at(Delta_T, i), at(V_th, i),
        )  # fmt: skip
        dw = at(rate_w, i) * (at(a, i) * (bounded - at(E_L, i)) - adapted)
        excited = excited * at(decay_ex, i)
        inhibited = inhibited * at(decay_in, i)
        end = wp.where(held, new, new + dV)
        end = wp.where(end > peak, peak, end)
        end_w = adapted + dw
        dV = dV + at(rate, i) * current(
            end, end_w, excited, inhibited,
            at(g_L, i), at(leak, i), at(E_ex, i), at(E_in, i), at(Delta_T, i), at(V_th, i),
        )  # fmt: skip
        dw = dw + at(rate_w, i) * (at(a, i) * (end - at(E_L, i)) - end_w)
        new = wp.where(held, new, new + half * dV)
        adapted = adapted + half * dw
        fired = new > peak and not held
        new = wp.where(fired, at(V_reset, i), new)
        adapted = wp.where(fired, adapted + at(b, i), adapted)
        number = number + wp.where(fired, 1, 0)
        held = held or (fired and at(t_ref, i) > half * at(dt, i))
    V[i] = new
    w[i] = adapted
    g_ex[i] = excited
    g_in[i] = inhibited
    held_for[i] = wp.where(number > 0, at(t_ref, i), remaining)
    spikes[i] = spikes.dtype(wp.min(number, most[0]))


def build(*, outs: Any, substeps: int, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays; the states are updated in place where they are not needed again."""
    most = substeps if outs[5].dtype.kind == "i" else 1
    step = warp_kernel(adex_step, outs, in_out_argnames=["V", "held_for", "g_ex", "g_in", "w"])

    def call(*arrays: Any) -> Any:
        return step(*arrays, *(jnp.full(1, x, jnp.int32) for x in (substeps, most)))

    return call

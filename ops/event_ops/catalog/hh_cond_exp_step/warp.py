"""One step of Hodgkin-Huxley neurons in Warp: one thread per neuron."""

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import warp as wp

from event_ops.kernels.warp.access import Array, at
from event_ops.kernels.warp.membrane import relax
from ffi_bridge import warp_kernel


@wp.func
def linoid(x: Any) -> Any:
    """Return x / (exp(x) - 1), near 0 by its series."""
    y = x * x
    one = type(x)(1.0)
    series = one / type(x)(30240.0) - y * (one / type(x)(1209600.0) - y / type(x)(47900160.0))
    series = one / type(x)(12.0) - y * (one / type(x)(720.0) - y * series)
    series = one - x * type(x)(0.5) + y * series
    if wp.abs(x) < type(x)(0.3):
        return series
    return x / (wp.exp(x) - one)


@wp.func
def toward(x: Any, alpha: Any, beta: Any, time: Any) -> Any:
    """Return a gate after so much time with constant rates."""
    end = alpha / (alpha + beta)
    return end + (x - end) * wp.exp(-(alpha + beta) * time)


@wp.func
def toward_m(v: Any, m: Any, time: Any) -> Any:
    """Return m after so much time at one potential."""
    alpha = type(v)(1.28) * linoid((type(v)(13.0) - v) / type(v)(4.0))
    return toward(m, alpha, type(v)(1.4) * linoid((v - type(v)(40.0)) / type(v)(5.0)), time)


@wp.func
def toward_h(v: Any, h: Any, time: Any) -> Any:
    """Return h after so much time at one potential."""
    alpha = type(v)(0.128) * wp.exp((type(v)(17.0) - v) / type(v)(18.0))
    beta = type(v)(4.0) / (type(v)(1.0) + wp.exp((type(v)(40.0) - v) / type(v)(5.0)))
    return toward(h, alpha, beta, time)


@wp.func
def toward_n(v: Any, n: Any, time: Any) -> Any:
    """Return n after so much time at one potential."""
    alpha = type(v)(0.16) * linoid((type(v)(15.0) - v) / type(v)(5.0))
    return toward(n, alpha, type(v)(0.5) * wp.exp((type(v)(10.0) - v) / type(v)(40.0)), time)


@wp.kernel(enable_backward=False)
def hh_cond_exp_step(
    V: Array, held_for: Array, g_ex: Array, g_in: Array, Act_m: Array, Inact_h: Array, Act_n: Array,
    decay_ex: Array, decay_in: Array, mean_ex: Array, mean_in: Array, g_L: Array, leak: Array, E_ex: Array,
    E_in: Array, rate: Array, g_Na: Array, E_Na: Array, g_K: Array, E_K: Array, V_T: Array, half: Array,
    t_ref: Array, dt: Array, substeps: wp.array(dtype=wp.int32), spikes: Array,
):  # fmt: skip
    i = wp.tid()
    old = V[i]
    new = V[i]
    excited = g_ex[i]
    inhibited = g_in[i]
    m = Act_m[i]
    h = Inact_h[i]
    n = Act_n[i]
    time = at(half, i)
    origin = at(V_T, i)
    for _ in range(substeps[0]):
        m = toward_m(new - origin, m, time)
        h = toward_h(new - origin, h, time)
        n = toward_n(new - origin, n, time)
        sodium = at(g_Na, i) * m * m * m * h
        potassium = at(g_K, i) * n * n * n * n
        new = relax(
            new, excited * at(mean_ex, i), inhibited * at(mean_in, i), at(g_L, i) + sodium + potassium,
            at(leak, i) + sodium * at(E_Na, i) + potassium * at(E_K, i),
            at(E_ex, i), at(E_in, i), at(rate, i),
        )  # fmt: skip
        excited = excited * at(decay_ex, i)
        inhibited = inhibited * at(decay_in, i)
        m = toward_m(new - origin, m, time)
        h = toward_h(new - origin, h, time)
        n = toward_n(new - origin, n, time)
    V[i] = new
    g_ex[i] = excited
    g_in[i] = inhibited
    Act_m[i] = m
    Inact_h[i] = h
    Act_n[i] = n
    left = held_for[i]
    held = left > V.dtype(0.5) * at(dt, i)
    spike = new > origin + V.dtype(30.0) and new < old and not held
    remaining = wp.where(held, wp.max(left - at(dt, i), V.dtype(0)), V.dtype(0))
    held_for[i] = wp.where(spike, at(t_ref, i), remaining)
    spikes[i] = spikes.dtype(spike)


def build(*, outs: Any, substeps: int, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays; the states are updated in place where they are not needed again."""
    states = ["V", "held_for", "g_ex", "g_in", "Act_m", "Inact_h", "Act_n"]
    step = warp_kernel(hh_cond_exp_step, outs, in_out_argnames=states)

    def call(*arrays: Any) -> Any:
        return step(*arrays, jnp.full(1, substeps, jnp.int32))

    return call

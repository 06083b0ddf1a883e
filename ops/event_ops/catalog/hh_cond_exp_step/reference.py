"""`hh_cond_exp_step` in pure JAX: its definition."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from event_ops.kernels.reference.membrane import relax
from event_ops.kernels.reference.spiking import Surrogate, crossings, is_held


def _linoid(x: jax.Array) -> jax.Array:
    """x / (exp(x) - 1), near 0 by its series."""
    near, y = jnp.abs(x) < 0.3, x * x
    series = 1 - x / 2 + y * (1 / 12 - y * (1 / 720 - y * (1 / 30240 - y * (1 / 1209600 - y / 47900160))))
    apart = jnp.where(near, 1, x)
    return jnp.where(near, series, apart / (jnp.exp(apart) - 1))


def _toward(x: jax.Array, alpha: jax.Array, beta: jax.Array, time: jax.Array) -> jax.Array:
    """Return a gate after so much time with constant rates."""
    end = alpha / (alpha + beta)
    return end + (x - end) * jnp.exp(-(alpha + beta) * time)


def _gates(v: jax.Array, m: jax.Array, h: jax.Array, n: jax.Array, time: jax.Array) -> tuple[jax.Array, ...]:
    return (
        _toward(m, 1.28 * _linoid((13 - v) / 4), 1.4 * _linoid((v - 40) / 5), time),
        _toward(h, 0.128 * jnp.exp((17 - v) / 18), 4 / (1 + jnp.exp((40 - v) / 5)), time),
        _toward(n, 0.16 * _linoid((15 - v) / 5), 0.5 * jnp.exp((10 - v) / 40), time),
    )


def hh_cond_exp_step(
    V_m: jax.Array,
    refractory: jax.Array,
    g_ex: jax.Array,
    g_in: jax.Array,
    Act_m: jax.Array,
    Inact_h: jax.Array,
    Act_n: jax.Array,
    decay_ex: jax.Array,
    decay_in: jax.Array,
    mean_ex: jax.Array,
    mean_in: jax.Array,
    g_L: jax.Array,
    leak: jax.Array,
    E_ex: jax.Array,
    E_in: jax.Array,
    rate: jax.Array,
    g_Na: jax.Array,
    E_Na: jax.Array,
    g_K: jax.Array,
    E_K: jax.Array,
    V_T: jax.Array,
    half: jax.Array,
    t_ref: jax.Array,
    dt: jax.Array,
    *,
    substeps: int,
    surrogate: Surrogate | None,
) -> tuple[jax.Array, ...]:
    """Integrate in substeps; spike at a maximum, unless one was seen within the refractory time."""

    def substep(state: Any, _: None) -> tuple[Any, None]:
        v, ex, into, *gates = state
        m, h, n = _gates(v - V_T, gates[0], gates[1], gates[2], half)
        sodium, potassium = g_Na * m * m * m * h, g_K * n * n * n * n
        driven = leak + sodium * E_Na + potassium * E_K
        v = relax(v, ex * mean_ex, into * mean_in, g_L + sodium + potassium, driven, E_ex, E_in, rate)
        return (v, ex * decay_ex, into * decay_in, *_gates(v - V_T, m, h, n, half)), None

    start = V_m, g_ex, g_in, Act_m, Inact_h, Act_n
    (v, ex, into, *gates), _ = jax.lax.scan(substep, start, length=substeps)
    held = is_held(refractory, dt)
    spikes = crossings(v, V_T + 30, surrogate)
    spikes = jnp.where(held | ~(V_m > v), jnp.zeros((), spikes.dtype), spikes)
    left = jnp.where(held, jnp.maximum(refractory - dt, 0), 0)
    return v, jnp.where(spikes.astype(bool), t_ref, left), ex, into, *gates, spikes


def build(*, substeps: int, surrogate: Surrogate | None, **_: Any) -> Callable[..., Any]:
    """Return `hh_cond_exp_step` for one number of substeps and one surrogate."""
    return functools.partial(hh_cond_exp_step, substeps=substeps, surrogate=surrogate)

"""`adex_step` in pure JAX: its definition."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from event_ops.kernels.reference.spiking import Surrogate, crossings, is_held, raised


def adex_step(
    V_m: jax.Array,
    refractory: jax.Array,
    g_ex: jax.Array,
    g_in: jax.Array,
    w: jax.Array,
    decay_ex: jax.Array,
    decay_in: jax.Array,
    rate: jax.Array,
    rate_w: jax.Array,
    g_L: jax.Array,
    leak: jax.Array,
    E_ex: jax.Array,
    E_in: jax.Array,
    Delta_T: jax.Array,
    V_th: jax.Array,
    a: jax.Array,
    E_L: jax.Array,
    b: jax.Array,
    V_peak: jax.Array,
    V_reset: jax.Array,
    t_ref: jax.Array,
    dt: jax.Array,
    *,
    substeps: int,
    count: bool,
    surrogate: Surrogate | None,
) -> tuple[jax.Array, ...]:
    """Integrate in substeps, unless held; at each, reset and hold what has passed V_peak."""

    def changes(v: jax.Array, w: jax.Array, g_ex: jax.Array, g_in: jax.Array) -> tuple[jax.Array, jax.Array]:
        v = jnp.where(V_peak < v, V_peak, v)
        upstroke = g_L * Delta_T * jnp.exp((v - V_th) / Delta_T)
        current = leak - g_L * v + upstroke - w + g_ex * (E_ex - v) + g_in * (E_in - v)
        return rate * current, rate_w * (a * (v - E_L) - w)

    def substep(state: Any, _: None) -> tuple[Any, None]:
        v, ex, into, w, held, top, number = state
        later = ex * decay_ex, into * decay_in
        # The conductances of what is held take no part, not even where they are infinite.
        now = (jnp.where(held, 0, g) for g in (ex, into))
        then = (jnp.where(held, 0, g) for g in later)
        dV, dw = changes(v, w, *now)
        dV = jnp.where(held, 0, dV)
        dV_end, dw_end = changes(v + dV, w + dw, *then)
        v, w = jnp.where(held, v, v + (dV + dV_end) / 2), w + (dw + dw_end) / 2
        top = jnp.where(held, top, jnp.where(top < v, v, top))
        fired = (V_peak < v) & ~held
        v, w = jnp.where(fired, V_reset, v), jnp.where(fired, w + b, w)
        return (
            v,
            *later,
            w,
            held | (fired & is_held(t_ref, dt)),
            top,
            number + fired.astype(jnp.int32),
        ), None

    held = is_held(refractory, dt)
    start = V_m, g_ex, g_in, w, held, jnp.full_like(V_m, -jnp.inf), jnp.zeros(V_m.shape, jnp.int32)
    (v, ex, into, w, _, top, number), _ = jax.lax.scan(substep, start, length=substeps)
    spikes = number if count else crossings(top, V_peak, surrogate)
    w = w if surrogate is None else raised(w, jnp.where(held, 0, b), spikes)
    left = jnp.where(held, jnp.maximum(refractory - dt, 0), 0)
    return v, jnp.where(spikes.astype(bool), t_ref, left), ex, into, w, spikes


def build(*, outs: Any, substeps: int, surrogate: Surrogate | None, **_: Any) -> Callable[..., Any]:
    """Return `adex_step` for one number of substeps and one surrogate."""
    counted = outs[-1].dtype == jnp.int32
    return functools.partial(adex_step, substeps=substeps, count=counted, surrogate=surrogate)

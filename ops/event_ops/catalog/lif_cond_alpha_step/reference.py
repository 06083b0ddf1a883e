"""`lif_cond_alpha_step` in pure JAX: its definition."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from event_ops.kernels.reference.membrane import relax
from event_ops.kernels.reference.spiking import Surrogate, fire, is_held


def lif_cond_alpha_step(
    V_m: jax.Array,
    refractory: jax.Array,
    g_ex: jax.Array,
    g_in: jax.Array,
    dg_ex: jax.Array,
    dg_in: jax.Array,
    decay_ex: jax.Array,
    decay_in: jax.Array,
    mean_ex: jax.Array,
    mean_in: jax.Array,
    rise_ex: jax.Array,
    rise_in: jax.Array,
    g_L: jax.Array,
    leak: jax.Array,
    E_ex: jax.Array,
    E_in: jax.Array,
    rate: jax.Array,
    V_th: jax.Array,
    V_reset: jax.Array,
    t_ref: jax.Array,
    dt: jax.Array,
    *,
    surrogate: Surrogate | None,
) -> tuple[jax.Array, ...]:
    """Integrate unless held, spike above threshold, reset and hold; the conductances decay."""
    # What is held takes no part, nor do its derivatives, not even where a conductance is infinite.
    held = is_held(refractory, dt)
    v, *state = (jnp.where(held, 0, x) for x in (V_m, g_ex, g_in, dg_ex, dg_in))
    ex, into, d_ex, d_in = state
    mean = ex * mean_ex + d_ex * rise_ex, into * mean_in + d_in * rise_in
    free = relax(v, *mean, g_L, leak, E_ex, E_in, rate)
    v, remaining, spikes = fire(V_m, refractory, free, V_th, V_reset, t_ref, dt, surrogate)
    later = (g_ex + dt * dg_ex) * decay_ex, (g_in + dt * dg_in) * decay_in
    return v, remaining, *later, dg_ex * decay_ex, dg_in * decay_in, spikes


def build(*, surrogate: Surrogate | None, **_: Any) -> Callable[..., Any]:
    """Return `lif_cond_alpha_step` for one surrogate."""
    return functools.partial(lif_cond_alpha_step, surrogate=surrogate)

"""`lif_cond_exp_step` in pure JAX: its definition."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from event_ops.kernels.reference.membrane import relax
from event_ops.kernels.reference.spiking import Surrogate, fire, is_held


def lif_cond_exp_step(
    V_m: jax.Array,
    refractory: jax.Array,
    g_ex: jax.Array,
    g_in: jax.Array,
    decay_ex: jax.Array,
    decay_in: jax.Array,
    mean_ex: jax.Array,
    mean_in: jax.Array,
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
) -> tuple[jax.Array, jax.Array, jax.Array, jax.Array, jax.Array]:
    """Integrate unless held, spike above threshold, reset and hold; the conductances decay."""
    # What is held takes no part, nor do its derivatives, not even where a conductance is infinite.
    v, ex, into = (jnp.where(is_held(refractory, dt), 0, x) for x in (V_m, g_ex, g_in))
    free = relax(v, ex * mean_ex, into * mean_in, g_L, leak, E_ex, E_in, rate)
    v, remaining, spikes = fire(V_m, refractory, free, V_th, V_reset, t_ref, dt, surrogate)
    return v, remaining, g_ex * decay_ex, g_in * decay_in, spikes


def build(*, surrogate: Surrogate | None, **_: Any) -> Callable[..., Any]:
    """Return `lif_cond_exp_step` for one surrogate."""
    return functools.partial(lif_cond_exp_step, surrogate=surrogate)

"""`alif_step` in pure JAX: its definition."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from event_ops.spiking import Surrogate, crossings


def alif_step(
    V_m: jax.Array,
    refractory: jax.Array,
    a: jax.Array,
    I_syn: jax.Array,
    decay: jax.Array,
    decay_a: jax.Array,
    beta: jax.Array,
    E_L: jax.Array,
    V_th: jax.Array,
    V_reset: jax.Array,
    t_ref: jax.Array,
    dt: jax.Array,
    *,
    surrogate: Surrogate | None,
) -> tuple[jax.Array, jax.Array, jax.Array, jax.Array]:
    """Integrate unless held, spike above the adapted threshold, reset, hold and adapt."""
    held = refractory > dt / 2
    V_inf = E_L + I_syn
    V = jnp.where(held, V_m, V_inf + (V_m - V_inf) * decay)
    spikes = crossings(V, V_th + beta * a, surrogate)
    spikes = jnp.where(held, jnp.zeros((), spikes.dtype), spikes)
    reset = spikes.astype(bool)
    remaining = jnp.where(held, jnp.maximum(refractory - dt, 0), 0)
    adapted = a * decay_a + spikes.astype(a.dtype)
    return jnp.where(reset, V_reset, V), jnp.where(reset, t_ref, remaining), adapted, spikes


def generator(*, surrogate: Surrogate | None, **_: Any) -> Callable[..., Any]:
    """The function of arrays."""
    return functools.partial(alif_step, surrogate=surrogate)

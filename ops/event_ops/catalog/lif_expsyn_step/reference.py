"""`lif_expsyn_step` in pure JAX: its definition."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from event_ops.spiking import Surrogate, crossings


def lif_expsyn_step(
    V_m: jax.Array,
    refractory: jax.Array,
    I_syn: jax.Array,
    decay: jax.Array,
    decay_syn: jax.Array,
    gain: jax.Array,
    V_inf: jax.Array,
    V_th: jax.Array,
    V_reset: jax.Array,
    t_ref: jax.Array,
    dt: jax.Array,
    *,
    surrogate: Surrogate | None,
) -> tuple[jax.Array, jax.Array, jax.Array, jax.Array]:
    """Integrate unless held, spike above threshold, reset and hold; the current decays."""
    held = refractory > dt / 2
    V = jnp.where(held, V_m, V_inf + (V_m - V_inf) * decay + gain * I_syn)
    spikes = crossings(V, V_th, surrogate)
    spikes = jnp.where(held, jnp.zeros((), spikes.dtype), spikes)
    reset = spikes.astype(bool)
    remaining = jnp.where(held, jnp.maximum(refractory - dt, 0), 0)
    return jnp.where(reset, V_reset, V), jnp.where(reset, t_ref, remaining), I_syn * decay_syn, spikes


def generator(*, surrogate: Surrogate | None, **_: Any) -> Callable[..., Any]:
    """The function of arrays."""
    return functools.partial(lif_expsyn_step, surrogate=surrogate)

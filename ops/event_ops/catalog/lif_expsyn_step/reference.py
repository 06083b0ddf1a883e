"""`lif_expsyn_step` in pure JAX: its definition."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from event_ops.kernels.reference.spiking import Surrogate, approach, fire, is_held


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
    jump: jax.Array,
    *,
    surrogate: Surrogate | None,
) -> tuple[jax.Array, jax.Array, jax.Array, jax.Array]:
    """Integrate unless held, spike above threshold, reset and hold; the current decays."""
    held = is_held(refractory, dt)
    free = approach(V_m, V_inf, decay, held) + gain * jnp.where(held, 0, I_syn) + jump
    V, remaining, spikes = fire(V_m, refractory, free, V_th, V_reset, t_ref, dt, surrogate)
    return V, remaining, I_syn * decay_syn, spikes


def build(*, surrogate: Surrogate | None, **_: Any) -> Callable[..., Any]:
    """Return `lif_expsyn_step` for one surrogate."""
    return functools.partial(lif_expsyn_step, surrogate=surrogate)

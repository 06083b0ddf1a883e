"""`alif_step` in pure JAX: its definition."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax

from event_ops.kernels.reference.spiking import Surrogate, approach, fire, is_held


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
    jump: jax.Array,
    *,
    surrogate: Surrogate | None,
) -> tuple[jax.Array, jax.Array, jax.Array, jax.Array]:
    """Integrate unless held, spike above the adapted threshold, reset, hold and adapt."""
    free = approach(V_m, E_L + I_syn, decay, is_held(refractory, dt)) + jump
    threshold = V_th + beta * a
    V, remaining, spikes = fire(V_m, refractory, free, threshold, V_reset, t_ref, dt, surrogate)
    return V, remaining, a * decay_a + spikes.astype(a.dtype), spikes


def build(*, surrogate: Surrogate | None, **_: Any) -> Callable[..., Any]:
    """Return `alif_step` for one surrogate."""
    return functools.partial(alif_step, surrogate=surrogate)

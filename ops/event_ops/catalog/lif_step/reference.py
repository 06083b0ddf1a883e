"""`lif_step` in pure JAX: its definition."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax

from event_ops.kernels.reference.spiking import Surrogate, approach, fire, is_held


def lif_step(
    V_m: jax.Array,
    refractory: jax.Array,
    I_syn: jax.Array,
    decay: jax.Array,
    E_L: jax.Array,
    V_th: jax.Array,
    V_reset: jax.Array,
    t_ref: jax.Array,
    dt: jax.Array,
    jump: jax.Array,
    *,
    surrogate: Surrogate | None,
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Integrate unless held, spike above threshold, reset and hold; decay is the factor of V - V_inf."""
    free = approach(V_m, E_L + I_syn, decay, is_held(refractory, dt)) + jump
    return fire(V_m, refractory, free, V_th, V_reset, t_ref, dt, surrogate)


def build(*, surrogate: Surrogate | None, **_: Any) -> Callable[..., Any]:
    """Return `lif_step` for one surrogate."""
    return functools.partial(lif_step, surrogate=surrogate)

"""`izhikevich_step` in pure JAX: its definition."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from event_ops.kernels.reference.spiking import Surrogate, crossings


def _slope(v: jax.Array, u: jax.Array, I_syn: jax.Array) -> jax.Array:
    return (0.04 * v + 5) * v + 140 - u + I_syn


def izhikevich_step(
    V_m: jax.Array,
    U_m: jax.Array,
    I_syn: jax.Array,
    a: jax.Array,
    b: jax.Array,
    c: jax.Array,
    d: jax.Array,
    dt: jax.Array,
    V_th: jax.Array,
    jump: jax.Array,
    *,
    method: str,
    surrogate: Surrogate | None,
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Integrate, spike above threshold and reset."""
    if method == "euler":
        v = V_m + dt * _slope(V_m, U_m, I_syn)
        u = U_m + dt * a * (b * V_m - U_m)
    else:
        half = V_m + dt / 2 * _slope(V_m, U_m, I_syn)
        v = half + dt / 2 * _slope(half, U_m, I_syn)
        u = U_m + dt * a * (b * v - U_m)
    v = v + jump
    spikes = crossings(v, V_th, surrogate)
    return jnp.where(spikes.astype(bool), c, v), u + d * spikes.astype(u.dtype), spikes


def build(*, method: str, surrogate: Surrogate | None, **_: Any) -> Callable[..., Any]:
    """Return `izhikevich_step` for one method and surrogate."""
    return functools.partial(izhikevich_step, method=method, surrogate=surrogate)

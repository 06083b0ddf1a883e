"""Decay factors of one step, which are constants of the compiled code if their parameters are."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np


def is_constant(x: Any) -> bool:
    """Return whether x is a number or a NumPy array, which no transformation of JAX can trace."""
    return isinstance(x, (int, float, np.number, np.ndarray))


def decay_factor(tau: Any, dt: Any, dtype: Any) -> jax.Array:
    """exp(-dt / tau) in `dtype`; differentiable in `tau` and `dt` where they are JAX arrays."""
    if is_constant(tau) and is_constant(dt):
        # Computed once, in double precision, and not in every step.
        return jnp.asarray(np.exp(-np.asarray(dt, float) / np.asarray(tau, float)), dtype)
    return jnp.exp(-jnp.asarray(dt, dtype) / jnp.asarray(tau, dtype))


def decay_mean(tau: Any, dt: Any, dtype: Any) -> jax.Array:
    """(1 - exp(-dt / tau)) * tau / dt: the mean of exp(-t / tau) over a step, from t = 0 on."""
    known = is_constant(tau) and is_constant(dt)
    xp, kind = (np, float) if known else (jnp, dtype)
    steps = xp.asarray(dt, kind) / xp.asarray(tau, kind)
    return jnp.asarray(-xp.expm1(-steps) / steps, dtype)


def ramp_mean(tau: Any, dt: Any, dtype: Any) -> jax.Array:
    """(tau - (tau + dt) * exp(-dt / tau)) * tau / dt: the mean of t * exp(-t / tau) over a step."""
    known = is_constant(tau) and is_constant(dt)
    xp, kind = (np, float) if known else (jnp, dtype)
    tau = xp.asarray(tau, kind)
    steps = xp.asarray(dt, kind) / tau
    return jnp.asarray(tau * (-xp.expm1(-steps) / steps - xp.exp(-steps)), dtype)


def membrane_decay(tau_m: Any, dt: Any, dtype: Any, method: str) -> jax.Array:
    """Return the factor of V - V_inf over one step, which makes the two methods one formula."""
    if method == "exact":
        return decay_factor(tau_m, dt, dtype)
    if is_constant(tau_m) and is_constant(dt):
        return jnp.asarray(1 - np.asarray(dt, float) / np.asarray(tau_m, float), dtype)
    return 1 - jnp.asarray(dt, dtype) / jnp.asarray(tau_m, dtype)


def current_gain(tau_m: Any, tau_syn: Any, dt: Any, dtype: Any) -> jax.Array:
    """tau_syn / (tau_syn - tau_m) * (exp(-dt / tau_syn) - exp(-dt / tau_m)): what a current that decays with
    tau_syn moves a membrane by in a step; where both are one tau, the limit dt / tau * exp(-dt / tau)."""
    known = is_constant(tau_m) and is_constant(tau_syn) and is_constant(dt)
    xp, kind = (np, float) if known else (jnp, dtype)
    tau_m, tau_syn, dt = (xp.asarray(x, kind) for x in (tau_m, tau_syn, dt))
    of_m, of_syn = dt / tau_m, dt / tau_syn
    # The difference over x, or, where it would cancel, exp(-mean) * sinh(x / 2) / (x / 2), by its series.
    x = of_m - of_syn
    close = xp.abs(x) < 1
    apart = (xp.exp(-of_syn) - xp.exp(-of_m)) / xp.where(close, 1, x)
    near = xp.exp(-(of_m + of_syn) / 2) * _sinhc(xp.where(close, x, 0) / 2)
    return jnp.asarray(of_m * xp.where(close, near, apart), dtype)


def _sinhc(x: Any) -> Any:
    """sinh(x) / x to double precision where |x| <= 1/2, and so are its derivatives."""
    total = 0.0
    for n in range(8, 0, -1):
        total = (total + 1) * x * x / (2 * n * (2 * n + 1))
    return 1 + total

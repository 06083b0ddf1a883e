"""Decay factors of one step, which are constants of the compiled code if their parameters are."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from event_ops.checks.inputs import in_dtype, is_number


def is_constant(x: Any) -> bool:
    """Return whether x is a number or a NumPy array, which no transformation of JAX can trace."""
    return isinstance(x, (int, float, np.number, np.ndarray))


def decay_factor(tau: Any, dt: Any, dtype: Any) -> jax.Array:
    """exp(-dt / tau) in `dtype`; differentiable in `tau` and `dt` where they are JAX arrays."""
    return _evaluated(_factor, dtype, tau, dt)


def decay_and_means(tau: Any, dt: Any, dtype: Any) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Return exp(-dt / tau), and the means of exp(-t / tau) and t * exp(-t / tau) over a step, from t = 0 on.

    They are (1 - exp(-dt / tau)) * tau / dt, and (tau - (tau + dt) * exp(-dt / tau)) * tau / dt.
    """
    if all(map(is_constant, (tau, dt))):
        decay, mean, ramp = (_evaluated(formula, dtype, tau, dt) for formula in (_factor, _mean, _ramp))
    else:
        decay, mean, ramp = _in_jax((_factor, _mean, _ramp), in_dtype(tau, dtype), in_dtype(dt, dtype))
    return decay, mean, ramp


def membrane_decay(tau_m: Any, dt: Any, dtype: Any, method: str) -> jax.Array:
    """Return the factor of V - V_inf over one step, which makes the two methods one formula."""
    return _evaluated(_factor if method == "exact" else _euler_factor, dtype, tau_m, dt)


def current_gain(tau_m: Any, tau_syn: Any, dt: Any, dtype: Any) -> jax.Array:
    """tau_syn / (tau_syn - tau_m) * (exp(-dt / tau_syn) - exp(-dt / tau_m)), a current's effect in one step.

    The current decays with tau_syn; where both are one tau, this is the limit dt / tau * exp(-dt / tau).
    """
    return _evaluated(_gain, dtype, tau_m, tau_syn, dt)


Formula = Callable[..., Any]  # of NumPy or jax.numpy, and times


def _evaluated(formula: Formula, dtype: Any, *times: Any) -> jax.Array:
    """Return the formula of times in `dtype`; of constants computed once, in double precision."""
    if all(map(is_number, times)):
        return _of_numbers(formula, dtype, *map(float, times))
    if all(map(is_constant, times)):
        return in_dtype(formula(np, *(np.asarray(x, float) for x in times)), dtype)
    return _in_jax((formula,), *(in_dtype(x, dtype) for x in times))[0]


@functools.lru_cache(1024)
def _of_numbers(formula: Formula, dtype: Any, *times: float) -> Any:
    # In double precision: a decay near 1 would lose digits that many steps multiply.
    number = np.array(formula(np, *map(np.float64, times)), dtype)
    number.setflags(write=False)
    return number


# One program, and inlined where a step is traced.
@functools.partial(jax.jit, static_argnums=0, inline=True)
def _in_jax(formulas: Sequence[Formula], *times: jax.Array) -> Sequence[jax.Array]:
    return [formula(jnp, *times) for formula in formulas]


def _factor(xp: Any, tau: Any, dt: Any) -> Any:
    return xp.exp(-dt / tau)


def _euler_factor(xp: Any, tau: Any, dt: Any) -> Any:
    return 1 - dt / tau


def _mean(xp: Any, tau: Any, dt: Any) -> Any:
    steps = dt / tau
    return -xp.expm1(-steps) / steps


def _ramp(xp: Any, tau: Any, dt: Any) -> Any:
    steps = dt / tau
    return tau * (-xp.expm1(-steps) / steps - xp.exp(-steps))


def _gain(xp: Any, tau_m: Any, tau_syn: Any, dt: Any) -> Any:
    of_m, of_syn = dt / tau_m, dt / tau_syn
    # The difference over x, or, where it would cancel, exp(-mean) * sinh(x / 2) / (x / 2), by its series.
    x = of_m - of_syn
    close = xp.abs(x) < 1
    apart = (xp.exp(-of_syn) - xp.exp(-of_m)) / xp.where(close, 1, x)
    near = xp.exp(-(of_m + of_syn) / 2) * _sinhc(xp.where(close, x, 0) / 2)
    return of_m * xp.where(close, near, apart)


def _sinhc(x: Any) -> Any:
    """sinh(x) / x to double precision where |x| <= 1/2, and so are its derivatives."""
    total = 0.0
    for n in range(8, 0, -1):
        total = (total + 1) * x * x / (2 * n * (2 * n + 1))
    return 1 + total

"""Log-densities to sample from, each as a kernel with its gradient and as a formula that JAX differentiates.

Up to a constant. Parameters are one vector of float64, unconstrained.

Source: of the eight schools, D. B. Rubin, Journal of Educational Statistics 6 (1981), table 1, with effects
that are standard normal, times tau, as in A. Gelman et al., Bayesian Data Analysis (2013), 5.5.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import jax
import jax.numpy as jnp
import numba
import numpy as np

from ffi_bridge import numba_kernel

SPREAD: Final = 5.0  # of the priors of the eight schools


@dataclass(frozen=True)
class LogDensity:
    """Hold a log-density, its data, and where chains begin.

    Args:
        kernel: `kernel(x, *data, value, gradient)` of Numba.
        formula: `formula(x, *data)` of JAX.
        rate: a step of gradient ascent that converges.
        step_size: of leapfrog steps.
    """

    kernel: Any
    formula: Callable[..., jax.Array]
    data: tuple[np.ndarray, ...]
    start: np.ndarray
    rate: float
    step_size: float


@numba.njit
def eight_schools(x, effects, errors, value, gradient):
    mu, log_tau = x[0], x[1]
    tau = np.exp(log_tau)
    tail = (tau / SPREAD) ** 2
    # tau is half-Cauchy and mu normal; log_tau is the Jacobian of tau = exp(log_tau).
    total = log_tau - np.log1p(tail) - 0.5 * (mu / SPREAD) ** 2
    by_mu, by_tau = -mu / SPREAD**2, 0.0
    for i in range(effects.size):
        eta = x[2 + i]
        scaled = (effects[i] - mu - tau * eta) / errors[i]
        total -= 0.5 * (eta**2 + scaled**2)
        pull = scaled / errors[i]
        gradient[2 + i] = tau * pull - eta
        by_mu += pull
        by_tau += eta * pull
    value[()] = total
    gradient[0] = by_mu
    gradient[1] = 1 - 2 * tail / (1 + tail) + tau * by_tau


def eight_schools_in_jax(x, effects, errors):
    """Return the same as `eight_schools`."""
    mu, tau, eta = x[0], jnp.exp(x[1]), x[2:]
    priors = x[1] - jnp.log1p((tau / SPREAD) ** 2) - 0.5 * (mu / SPREAD) ** 2 - 0.5 * jnp.sum(eta**2)
    return priors - 0.5 * jnp.sum(((effects - mu - tau * eta) / errors) ** 2)


@numba.njit
def logistic(x, rows, outcomes, value, gradient):
    total = 0.0
    for j in range(x.size):
        total -= 0.5 * x[j] ** 2
        gradient[j] = -x[j]
    for i in range(outcomes.size):
        eta = 0.0
        for j in range(x.size):
            eta += rows[i, j] * x[j]
        # Of -|eta|, so that exp does not overflow.
        small = np.exp(-abs(eta))
        total += outcomes[i] * eta - max(eta, 0.0) - np.log1p(small)
        residual = outcomes[i] - (1.0 if eta > 0 else small) / (1 + small)
        for j in range(x.size):
            gradient[j] += rows[i, j] * residual
    value[()] = total


def logistic_in_jax(x, rows, outcomes):
    """Return the same as `logistic`."""
    eta = rows @ x
    return jnp.sum(outcomes * eta - jnp.logaddexp(0.0, eta)) - 0.5 * x @ x


def logistic_data(rows: int = 1000, columns: int = 10) -> tuple[np.ndarray, np.ndarray]:
    """Draw a regression: (rows, columns), and outcomes, 0 and 1."""
    rng = np.random.default_rng(0)
    X, x = rng.normal(size=(rows, columns)), rng.normal(size=columns)
    return X, (rng.random(rows) < 1 / (1 + np.exp(-X @ x))).astype(float)


SCHOOLS: Final = (
    np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0]),
    np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0]),
)
LOG_DENSITIES: Final = {
    "eight schools": LogDensity(eight_schools, eight_schools_in_jax, SCHOOLS, np.full(10, 0.1), 1e-3, 0.3),
    "logistic regression, 1000 x 10": LogDensity(
        logistic, logistic_in_jax, logistic_data(), np.zeros(10), 1e-4, 0.05
    ),
}


def through_kernel(density: LogDensity) -> Callable[[jax.Array], tuple[jax.Array, jax.Array]]:
    """Return x -> value and gradient, by `numba_kernel`."""
    call = numba_kernel(density.kernel, lambda x, *_: _outs(x))
    return lambda x: call(x, *density.data)


def through_callback(density: LogDensity) -> Callable[[jax.Array], tuple[jax.Array, jax.Array]]:
    """Return x -> value and gradient, by the same kernel behind `jax.pure_callback`."""

    def on_host(x):
        value, gradient = np.empty(()), np.empty(x.shape)
        density.kernel(np.asarray(x), *density.data, value, gradient)
        return value, gradient

    return lambda x: jax.pure_callback(on_host, _outs(x), x)


def in_jax(density: LogDensity) -> Callable[[jax.Array], tuple[jax.Array, jax.Array]]:
    """Return x -> value and gradient, which JAX derives from the formula."""
    return jax.value_and_grad(lambda x: density.formula(x, *density.data))


def differentiable(value_and_gradient: Any) -> Callable[[jax.Array], jax.Array]:
    """Return x -> value, whose gradient is the one that was computed with it."""

    @jax.custom_vjp
    def value(x):
        return value_and_gradient(x)[0]

    # What the forward pass keeps for the backward one is the gradient itself.
    value.defvjp(value_and_gradient, lambda gradient, ct: (ct * gradient,))
    return value


def _outs(x):
    return jax.ShapeDtypeStruct((), x.dtype), jax.ShapeDtypeStruct(x.shape, x.dtype)

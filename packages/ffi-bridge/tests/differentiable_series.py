"""Filters of time series, and an option, which looks back from its last day.

`kalman_filter`: R. Kalman, Journal of Basic Engineering 82 (1960) 35-45, one observation at a time.
`smoothing`: P. Winters, Management Science 6 (1960) 324-342, additive. `american_put`: J. Cox, S. Ross and
M. Rubinstein, Journal of Financial Economics 7 (1979) 229-263, with a rate for each step.
"""

import jax
import jax.numpy as jnp
import numba
import numpy as np
from differentiable import Differentiable, struct


@numba.njit
def biquad_cascade(x, sections, y):
    """Second-order sections b0, b1, b2, a0, a1, a2, in transposed direct form II, as SciPy's `sosfilt`."""
    state = np.zeros((sections.shape[0], 2))
    for t in range(x.size):
        value = x[t]
        for s in range(sections.shape[0]):
            b0, b1, b2, a0, a1, a2 = sections[s]
            result = (b0 * value + state[s, 0]) / a0
            state[s, 0] = b1 * value - a1 * result + state[s, 1]
            state[s, 1] = b2 * value - a2 * result
            value = result
        y[t] = value


@numba.njit
def kalman_filter(observations, transition, process_noise, design, noise, means, log_likelihood):
    n = transition.shape[0]
    m, P = np.zeros(n), np.eye(n)
    predicted, half, Pd = np.empty(n), np.empty((n, n)), np.empty(n)
    total = 0.0
    for t in range(observations.size):
        for i in range(n):
            predicted[i] = 0.0
            for j in range(n):
                predicted[i] += transition[i, j] * m[j]
                half[i, j] = 0.0
                for k in range(n):
                    half[i, j] += transition[i, k] * P[k, j]
        innovation, S = observations[t], noise
        for i in range(n):
            for j in range(n):
                P[i, j] = process_noise[i, j]
                for k in range(n):
                    P[i, j] += half[i, k] * transition[j, k]
        for i in range(n):
            innovation -= design[i] * predicted[i]
            Pd[i] = 0.0
            for j in range(n):
                Pd[i] += P[i, j] * design[j]
            S += design[i] * Pd[i]
        for i in range(n):
            m[i] = predicted[i] + Pd[i] / S * innovation
            means[t, i] = m[i]
            for j in range(n):
                P[i, j] -= Pd[i] * Pd[j] / S
        total -= 0.5 * (np.log(2 * np.pi * S) + innovation**2 / S)
    log_likelihood[()] = total


@numba.njit
def smoothing(x, season, rates, forecasts):
    """What level, trend and season foretell, each an exponential moving average."""
    alpha, beta, gamma = rates
    season = season.copy()
    level, trend = x[0] - season[0], 0.0
    for t in range(x.size):
        s = t % season.size
        forecasts[t] = level + trend + season[s]
        before = level
        level = alpha * (x[t] - season[s]) + (1 - alpha) * (level + trend)
        trend = beta * (level - before) + (1 - beta) * trend
        season[s] = gamma * (x[t] - level) + (1 - gamma) * season[s]


@numba.njit
def american_put(spot, strike, volatility, maturity, rates, price):
    steps = rates.size
    dt = maturity / steps
    up = np.exp(volatility * np.sqrt(dt))
    values = np.empty(steps + 1)
    for i in range(steps + 1):
        values[i] = max(strike - spot * up ** (2 * i - steps), 0.0)
    for t in range(steps - 1, -1, -1):
        chance = (np.exp(rates[t] * dt) - 1 / up) / (up - 1 / up)
        discount = np.exp(-rates[t] * dt)
        for i in range(t + 1):
            held = discount * (chance * values[i + 1] + (1 - chance) * values[i])
            exercised = strike - spot * up ** (2 * i - t)
            values[i] = max(held, exercised)
    price[()] = values[0]


def biquad_cascade_in_jax(x, sections):
    def section(x, coefficients):
        b0, b1, b2, a0, a1, a2 = coefficients

        def step(state, value):
            result = (b0 * value + state[0]) / a0
            return (b1 * value - a1 * result + state[1], b2 * value - a2 * result), result

        zero = jnp.zeros(())
        return jax.lax.scan(step, (zero, zero), x)[1], None

    return jax.lax.scan(section, x, sections)[0]


def kalman_filter_in_jax(observations, transition, process_noise, design, noise):
    def step(carry, observed):
        m, P, total = carry
        m, P = transition @ m, transition @ P @ transition.T + process_noise
        Pd, innovation = P @ design, observed - design @ m
        S = noise + design @ Pd
        m, P = m + Pd / S * innovation, P - jnp.outer(Pd, Pd) / S
        total -= 0.5 * (jnp.log(2 * jnp.pi * S) + innovation**2 / S)
        return (m, P, total), m

    start = jnp.zeros_like(design), jnp.eye(design.size), jnp.zeros(())
    (_, _, total), means = jax.lax.scan(step, start, observations)
    return means, total


def smoothing_in_jax(x, season, rates):
    alpha, beta, gamma = rates

    def step(carry, x):
        level, trend, season = carry
        smoothed = alpha * (x - season[0]) + (1 - alpha) * (level + trend)
        new = gamma * (x - smoothed) + (1 - gamma) * season[0]
        trend_now = beta * (smoothed - level) + (1 - beta) * trend
        return (smoothed, trend_now, jnp.roll(season, -1).at[-1].set(new)), level + trend + season[0]

    return jax.lax.scan(step, (x[0] - season[0], jnp.zeros(()), season), x)[1]


def american_put_in_jax(spot, strike, volatility, maturity, rates):
    steps = rates.size
    dt = maturity / steps
    log_up = volatility * jnp.sqrt(dt)
    up, i = jnp.exp(log_up), jnp.arange(steps + 1.0)

    def exercised(t):
        return strike - spot * jnp.exp(log_up * (2 * i - t))

    def step(values, now):
        t, rate = now
        chance = (jnp.exp(rate * dt) - 1 / up) / (up - 1 / up)
        held = jnp.exp(-rate * dt) * (chance * jnp.roll(values, -1) + (1 - chance) * values)
        return jnp.maximum(held, exercised(t)), None

    values = jnp.maximum(exercised(steps), 0.0)
    return jax.lax.scan(step, values, (i[:-1], rates), reverse=True)[0][0]


def sections(rng):
    """Two sections with poles inside the unit circle."""
    radius, angle = rng.uniform(0.5, 0.9, 2), rng.uniform(0.5, 2.5, 2)
    a1, a2 = -2 * radius * np.cos(angle), radius**2
    return np.column_stack([rng.normal(size=(2, 3)), np.ones(2), a1, a2])


def state_space(rng, n):
    transition = 0.9 * np.linalg.qr(rng.normal(size=(3, 3)))[0]
    return rng.normal(size=n), transition, np.diag([0.1, 0.2, 0.3]), rng.normal(size=3), 0.5


KERNELS = [
    Differentiable(
        biquad_cascade,
        lambda rng, n: (rng.normal(size=n), sections(rng)),
        lambda x, _: x,
        biquad_cascade_in_jax,
        size=30,
        large=20_000,
    ),
    Differentiable(
        kalman_filter,
        state_space,
        lambda observations, transition, *_: (struct(*observations.shape, *transition.shape[:1]), struct()),
        kalman_filter_in_jax,
        scalars=("noise",),
        size=12,
        large=2000,
    ),
    Differentiable(
        smoothing,
        lambda rng, n: (rng.normal(size=n).cumsum(), rng.normal(size=4), rng.uniform(0.2, 0.8, 3)),
        lambda x, *_: x,
        smoothing_in_jax,
        size=30,
        large=50_000,
    ),
    Differentiable(
        american_put,
        lambda rng, n: (95.0, 100.0, 0.3, 1.0, rng.uniform(0.01, 0.08, n)),
        lambda *_: struct(),
        american_put_in_jax,
        scalars=("spot", "strike", "volatility", "maturity"),
        size=20,
        large=300,
    ),
]

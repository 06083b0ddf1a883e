"""Neurons, and animals: loops over time with thresholds, rates of channels, neighbours and noise.

`hodgkin_huxley`: A. Hodgkin and A. Huxley, Journal of Physiology 117 (1952) 500-544, by exponential Euler.
`integrate_and_fire` has a smooth spike, see E. Neftci et al., IEEE Signal Processing Magazine 36 (2019)
51-63.
"""

import jax
import jax.numpy as jnp
import numba
import numpy as np
from differentiable import Differentiable

SHARPNESS = 5.0


@numba.njit
def rates(V):
    x, y = V + 40.0, V + 55.0
    alpha_m = 1.0 if abs(x) < 1e-7 else 0.1 * x / (1.0 - np.exp(-x / 10.0))
    alpha_n = 0.1 if abs(y) < 1e-7 else 0.01 * y / (1.0 - np.exp(-y / 10.0))
    alpha_h, beta_m = 0.07 * np.exp(-(V + 65.0) / 20.0), 4.0 * np.exp(-(V + 65.0) / 18.0)
    beta_h, beta_n = 1.0 / (1.0 + np.exp(-(V + 35.0) / 10.0)), 0.125 * np.exp(-(V + 65.0) / 80.0)
    return alpha_m, beta_m, alpha_h, beta_h, alpha_n, beta_n


@numba.njit
def gate(x, alpha, beta, dt):
    steady = alpha / (alpha + beta)
    return steady + (x - steady) * np.exp(-dt * (alpha + beta))


@numba.njit
def hodgkin_huxley(current, conductances, reversals, dt, V_m):
    g_Na, g_K, g_L = conductances
    E_Na, E_K, E_L = reversals
    V, m, h, n = -65.0, 0.05, 0.6, 0.32
    for t in range(current.size):
        alpha_m, beta_m, alpha_h, beta_h, alpha_n, beta_n = rates(V)
        m, h, n = gate(m, alpha_m, beta_m, dt), gate(h, alpha_h, beta_h, dt), gate(n, alpha_n, beta_n, dt)
        sodium, potassium = g_Na * m**3 * h, g_K * n**4
        total = sodium + potassium + g_L
        steady = (sodium * E_Na + potassium * E_K + g_L * E_L + current[t]) / total
        V = steady + (V - steady) * np.exp(-dt * total)
        V_m[t] = V


@numba.njit
def fitzhugh_nagumo(stimulus, diffusion, parameters, dt, v):
    """An excitable sheet whose edges let nothing through: all states in time, a stack of matrices."""
    a, b, epsilon = parameters
    steps, rows, columns = stimulus.shape
    w = np.zeros((rows, columns))
    v[0] = stimulus[0]
    for t in range(1, steps):
        for i in range(rows):
            for j in range(columns):
                here, spread = v[t - 1, i, j], 0.0
                if i > 0:
                    spread += v[t - 1, i - 1, j] - here
                if i < rows - 1:
                    spread += v[t - 1, i + 1, j] - here
                if j > 0:
                    spread += v[t - 1, i, j - 1] - here
                if j < columns - 1:
                    spread += v[t - 1, i, j + 1] - here
                slope = here - here**3 / 3 - w[i, j] + stimulus[t, i, j] + diffusion * spread
                w[i, j] += dt * epsilon * (here + a - b * w[i, j])
                v[t, i, j] = here + dt * slope


@numba.njit
def integrate_and_fire(x, weights, leak, threshold, spikes):
    steps, n = x.shape
    V = np.zeros(n)
    for t in range(steps):
        for i in range(n):
            arriving = x[t, i]
            if t > 0:
                for j in range(n):
                    arriving += weights[i, j] * spikes[t - 1, j]
                V[i] -= threshold * spikes[t - 1, i]
            V[i] = leak * V[i] + arriving
        for i in range(n):
            distance = V[i] - threshold
            spikes[t, i] = 0.5 * (1.0 + SHARPNESS * distance / (1.0 + SHARPNESS * abs(distance)))


@numba.njit
def lotka_volterra(start, rates, volatility, noise, dt, path):
    """Prey and predators with noise in their growth, by the method of Milstein; neither falls below 0."""
    alpha, beta, gamma, delta = rates
    prey, predators = start
    root = np.sqrt(dt)
    for t in range(noise.shape[0]):
        dW, dZ = root * noise[t, 0], root * noise[t, 1]
        growth, decay = alpha - beta * predators, delta * prey - gamma
        prey *= 1 + growth * dt + volatility * dW + 0.5 * volatility**2 * (dW**2 - dt)
        predators *= 1 + decay * dt + volatility * dZ + 0.5 * volatility**2 * (dZ**2 - dt)
        if prey < 0.0:
            prey = 0.0
        if predators < 0.0:
            predators = 0.0
        path[t, 0], path[t, 1] = prey, predators


def hodgkin_huxley_in_jax(current, conductances, reversals, dt):
    g_Na, g_K, g_L = conductances
    E_Na, E_K, E_L = reversals

    def linear_over_rise(x):
        near = jnp.abs(x) < 1e-7
        return jnp.where(near, 10.0, x / (1 - jnp.exp(-jnp.where(near, 1.0, x) / 10)))

    def moved(x, alpha, beta):
        steady = alpha / (alpha + beta)
        return steady + (x - steady) * jnp.exp(-dt * (alpha + beta))

    def step(carry, current):
        V, m, h, n = carry
        rest = V + 65
        m = moved(m, 0.1 * linear_over_rise(V + 40), 4 * jnp.exp(-rest / 18))
        h = moved(h, 0.07 * jnp.exp(-rest / 20), jax.nn.sigmoid((V + 35) / 10))
        n = moved(n, 0.01 * linear_over_rise(V + 55), 0.125 * jnp.exp(-rest / 80))
        sodium, potassium = g_Na * m**3 * h, g_K * n**4
        total = sodium + potassium + g_L
        steady = (sodium * E_Na + potassium * E_K + g_L * E_L + current) / total
        V = steady + (V - steady) * jnp.exp(-dt * total)
        return (V, m, h, n), V

    return jax.lax.scan(step, tuple(map(jnp.float64, (-65, 0.05, 0.6, 0.32))), current)[1]


def fitzhugh_nagumo_in_jax(stimulus, diffusion, parameters, dt):
    a, b, epsilon = parameters

    def step(carry, stimulus):
        v, w = carry
        padded = jnp.pad(v, 1, mode="edge")
        neighbours = padded[:-2, 1:-1] + padded[2:, 1:-1] + padded[1:-1, :-2] + padded[1:-1, 2:]
        slope = v - v**3 / 3 - w + stimulus + diffusion * (neighbours - 4 * v)
        carry = v + dt * slope, w + dt * epsilon * (v + a - b * w)
        return carry, carry[0]

    path = jax.lax.scan(step, (stimulus[0], jnp.zeros_like(stimulus[0])), stimulus[1:])[1]
    return jnp.concatenate([stimulus[:1], path])


def integrate_and_fire_in_jax(x, weights, leak, threshold):
    def step(carry, x):
        V, spikes = carry
        V = leak * (V - threshold * spikes) + weights @ spikes + x
        spikes = 0.5 * (1 + jax.nn.soft_sign(SHARPNESS * (V - threshold)))
        return (V, spikes), spikes

    start = jnp.zeros_like(x[0]), jnp.zeros_like(x[0])
    return jax.lax.scan(step, start, x)[1]


def lotka_volterra_in_jax(start, rates, volatility, noise, dt):
    alpha, beta, gamma, delta = rates

    def step(state, dW):
        prey, predators = state
        growth = jnp.stack([alpha - beta * predators, delta * prey - gamma])
        state *= 1 + growth * dt + volatility * dW + 0.5 * volatility**2 * (dW**2 - dt)
        state = jnp.where(state < 0.0, 0.0, state)
        return state, state

    return jax.lax.scan(step, start, jnp.sqrt(dt) * noise)[1]


KERNELS = [
    Differentiable(
        hodgkin_huxley,
        lambda rng, n: (
            rng.uniform(5, 15, n),
            np.array([120.0, 36.0, 0.3]),
            np.array([50.0, -77.0, -54.4]),
            0.05,
        ),
        lambda current, *_: current,
        hodgkin_huxley_in_jax,
        scalars=("dt",),
        size=100,
        large=5000,
    ),
    Differentiable(
        fitzhugh_nagumo,
        lambda rng, n: (rng.normal(size=(20, n, n + 1)), 0.3, np.array([0.7, 0.8, 0.08]), 0.1),
        lambda stimulus, *_: stimulus,
        fitzhugh_nagumo_in_jax,
        scalars=("diffusion", "dt"),
        large=64,
    ),
    Differentiable(
        integrate_and_fire,
        lambda rng, n: (rng.uniform(size=(20, n)), rng.normal(size=(n, n)) / np.sqrt(n), 0.9, 1.0),
        lambda x, *_: x,
        integrate_and_fire_in_jax,
        scalars=("leak", "threshold"),
        large=200,
    ),
    Differentiable(
        lotka_volterra,
        lambda rng, n: (
            rng.uniform(0.5, 1.5, 2),
            np.array([1.1, 0.4, 0.8, 0.3]),
            0.2,
            rng.normal(size=(n, 2)),
            0.02,
        ),
        lambda start, rates, volatility, noise, dt: noise,
        lotka_volterra_in_jax,
        scalars=("volatility", "dt"),
        size=40,
        large=5000,
    ),
]

"""Dynamic programmes whose maxima and minima are smooth, and the forward algorithms of Markov models.

`soft_dtw`: M. Cuturi and M. Blondel, ICML 2017. `smith_waterman`: S. Petti et al., Bioinformatics 39 (2023).
`crf_log_partition`: J. Lafferty et al., ICML 2001. `hmm_log_likelihood`: L. Rabiner, Proceedings of the IEEE
77 (1989) 257-286, scaled.
"""

import jax
import jax.numpy as jnp
import numba
import numpy as np
from differentiable import Differentiable, struct

FAR = 1e30


@numba.njit
def soft_dtw(x, y, gamma, distance):
    n, m = x.size, y.size
    R = np.full((n + 1, m + 1), FAR)
    R[0, 0] = 0.0
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            a, b, c = R[i - 1, j - 1], R[i - 1, j], R[i, j - 1]
            least = min(a, b, c)
            total = np.exp((least - a) / gamma) + np.exp((least - b) / gamma) + np.exp((least - c) / gamma)
            R[i, j] = (x[i - 1] - y[j - 1]) ** 2 + least - gamma * np.log(total)
    distance[()] = R[n, m]


@numba.njit
def log_add(a, b):
    if a > b:
        return a + np.log1p(np.exp(b - a))
    return b + np.log1p(np.exp(a - b))


@numba.njit
def smith_waterman(first, second, substitution, gap, score):
    n, m = first.size, second.size
    H = np.zeros((n + 1, m + 1))
    total = 0.0
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            matched = H[i - 1, j - 1] + substitution[first[i - 1], second[j - 1]]
            gapped = log_add(H[i - 1, j], H[i, j - 1]) - gap
            H[i, j] = log_add(0.0, log_add(matched, gapped))
            total = log_add(total, H[i, j])
    score[()] = total


@numba.njit
def edit_distance(first, second, costs, temperature, distance):
    insertion, deletion, change = costs
    before, now = np.empty(second.size + 1), np.empty(second.size + 1)
    for j in range(second.size + 1):
        before[j] = insertion * j
    for i in range(first.size):
        now[0] = deletion * (i + 1)
        for j in range(second.size):
            a = before[j] + (change if first[i] != second[j] else 0.0)
            b = before[j + 1] + deletion
            c = now[j] + insertion
            least = min(a, b, c)
            total = 0.0
            for path in (a, b, c):
                total += np.exp((least - path) / temperature)
            now[j + 1] = least - temperature * np.log(total)
        before, now = now, before
    distance[()] = before[second.size]


@numba.njit
def crf_log_partition(emissions, transitions, log_partition):
    steps, labels = emissions.shape
    alpha = emissions[0].copy()
    scores = np.empty(labels)
    for t in range(1, steps):
        following = np.empty(labels)
        for j in range(labels):
            for i in range(labels):
                scores[i] = alpha[i] + transitions[i, j]
            top = scores.max()
            following[j] = emissions[t, j] + top + np.log(np.sum(np.exp(scores - top)))
        alpha = following
    top = alpha.max()
    log_partition[()] = top + np.log(np.sum(np.exp(alpha - top)))


@numba.njit
def hmm_log_likelihood(initial, transition, emission, observations, log_likelihood):
    states = initial.size
    alpha = initial * emission[:, observations[0]]
    total = 0.0
    for t in range(1, observations.size):
        scale = alpha.sum()
        total += np.log(scale)
        alpha /= scale
        following = np.zeros(states)
        for i in range(states):
            for j in range(states):
                following[j] += alpha[i] * transition[i, j]
        alpha = following * emission[:, observations[t]]
    log_likelihood[()] = total + np.log(alpha.sum())


def soft_minimum(paths, temperature):
    return -temperature * jax.nn.logsumexp(-jnp.stack(paths) / temperature, axis=0)


def by_anti_diagonals(cell, border, costs):
    """Return R where R[i, j] = cell(R[i-1, j-1], R[i-1, j], R[i, j-1], costs[i-1, j-1]), by a scan.

    `border` is R with its first row and column filled in. All cells of an anti-diagonal are computed at once.
    """
    rows, columns = border.shape
    i = jnp.arange(rows)
    j = jnp.arange(rows + columns - 1)[:, None] - i
    inside = (i > 0) & (j > 0) & (j < columns)
    costs = jnp.pad(costs, ((1, 0), (1, 0)))[i, j.clip(0, columns - 1)]
    border = jnp.where(inside | (j < 0) | (j >= columns), 0.0, border[i, j.clip(0, columns - 1)])

    def step(carry, row):
        second_last, last = carry
        inside, edge, cost = row
        new = jnp.where(inside, cell(jnp.roll(second_last, 1), jnp.roll(last, 1), last, cost), edge)
        return (last, new), new

    start = jnp.zeros(rows), jnp.zeros(rows)
    diagonals = jax.lax.scan(step, start, (inside, border, costs))[1]
    return diagonals[i[:, None] + jnp.arange(columns), i[:, None]]


def soft_dtw_in_jax(x, y, gamma):
    border = jnp.full((x.size + 1, y.size + 1), FAR).at[0, 0].set(0.0)

    def cell(a, b, c, cost):
        return cost + soft_minimum([a, b, c], gamma)

    return by_anti_diagonals(cell, border, (x[:, None] - y) ** 2)[-1, -1]


def smith_waterman_in_jax(first, second, substitution, gap):
    def cell(a, b, c, matched):
        return jax.nn.logsumexp(jnp.stack([jnp.zeros_like(a), a + matched, b - gap, c - gap]), axis=0)

    border = jnp.zeros((first.size + 1, second.size + 1))
    H = by_anti_diagonals(cell, border, substitution[first[:, None], second])
    return jax.nn.logsumexp(jnp.append(H[1:, 1:], 0.0))


def edit_distance_in_jax(first, second, costs, temperature):
    insertion, deletion, change = costs

    def cell(a, b, c, changed):
        return soft_minimum([a + changed, b + deletion, c + insertion], temperature)

    down, right = jnp.arange(first.size + 1.0), jnp.arange(second.size + 1.0)
    border = deletion * down[:, None] + insertion * right
    changes = jnp.where(first[:, None] != second, change, 0.0)
    return by_anti_diagonals(cell, border, changes)[-1, -1]


def crf_log_partition_in_jax(emissions, transitions):
    def step(alpha, emission):
        return emission + jax.nn.logsumexp(alpha[:, None] + transitions, axis=0), None

    return jax.nn.logsumexp(jax.lax.scan(step, emissions[0], emissions[1:])[0])


def hmm_log_likelihood_in_jax(initial, transition, emission, observations):
    def step(alpha, observed):
        scale = alpha.sum()
        return (alpha / scale) @ transition * emission[:, observed], jnp.log(scale)

    alpha, logs = jax.lax.scan(step, initial * emission[:, observations[0]], observations[1:])
    return logs.sum() + jnp.log(alpha.sum())


def two_sequences(rng, n):
    return rng.integers(0, 4, n), rng.integers(0, 4, n + n // 4)


def markov_model(rng, n):
    rows = rng.uniform(0.1, 1.0, (4, 3)), rng.uniform(0.1, 1.0, (3, 4))
    hidden, emission = (x / x.sum(axis=1, keepdims=True) for x in rows)
    return hidden[0], hidden[1:], emission, rng.integers(0, 4, n)


def number(*_):
    return struct()


KERNELS = [
    Differentiable(
        soft_dtw,
        lambda rng, n: (rng.normal(size=n), rng.normal(size=n + n // 4), 0.5),
        number,
        soft_dtw_in_jax,
        scalars=("gamma",),
        large=200,
    ),
    Differentiable(
        smith_waterman,
        lambda rng, n: (*two_sequences(rng, n), rng.normal(size=(4, 4)) + 2 * np.eye(4), 0.8),
        number,
        smith_waterman_in_jax,
        scalars=("gap",),
        large=100,
    ),
    Differentiable(
        edit_distance,
        lambda rng, n: (*two_sequences(rng, n), rng.uniform(0.5, 1.5, 3), 0.3),
        number,
        edit_distance_in_jax,
        scalars=("temperature",),
        large=200,
    ),
    Differentiable(
        crf_log_partition,
        lambda rng, n: (rng.normal(size=(n, 5)), rng.normal(size=(5, 5))),
        number,
        crf_log_partition_in_jax,
    ),
    Differentiable(
        hmm_log_likelihood,
        markov_model,
        number,
        hmm_log_likelihood_in_jax,
        large=10_000,
    ),
]

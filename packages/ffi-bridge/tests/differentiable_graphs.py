"""Sparse matrices, graphs, trees and a band: loops through indices.

`felsenstein`: J. Felsenstein, Journal of Molecular Evolution 17 (1981) 368-376. `thomas` eliminates without
pivots.
"""

import jax
import jax.numpy as jnp
import numba
import numpy as np
from differentiable import Differentiable, struct


@numba.njit
def csr_tanh(data, indices, indptr, x, y):
    for i in range(y.size):
        total = 0.0
        for k in range(indptr[i], indptr[i + 1]):
            total += data[k] * x[indices[k]]
        y[i] = np.tanh(total)


@numba.njit
def heat_flow(start, conductances, ends, steps, u):
    """u after explicit steps of u' = -L u, L the Laplacian of a graph whose edges have two `ends`."""
    u[:] = start
    flow = np.empty_like(u)
    for dt in steps:
        flow[:] = 0.0
        for e in range(conductances.size):
            i, j = ends[e]
            through = conductances[e] * (u[j] - u[i])
            flow[i] += through
            flow[j] -= through
        u += dt * flow


@numba.njit
def felsenstein(children, lengths, frequencies, leaves, log_likelihood):
    """The log-likelihood of a tree, whose nodes are leaves and then `children` in post-order.

    After a branch of length t a base is the same with chance exp(-t), or else one of the four by frequency.
    """
    tips, sites = leaves.shape
    partials = np.zeros((tips + children.shape[0], sites, 4))
    for tip in range(tips):
        for site in range(sites):
            partials[tip, site, leaves[tip, site]] = 1.0
    for k in range(children.shape[0]):
        node = tips + k
        partials[node] = 1.0
        for child in children[k]:
            kept = np.exp(-lengths[child])
            for site in range(sites):
                mean = 0.0
                for base in range(4):
                    mean += frequencies[base] * partials[child, site, base]
                for base in range(4):
                    partials[node, site, base] *= kept * partials[child, site, base] + (1 - kept) * mean
    total = 0.0
    for site in range(sites):
        chance = 0.0
        for base in range(4):
            chance += frequencies[base] * partials[-1, site, base]
        total += np.log(chance)
    log_likelihood[()] = total


@numba.njit
def thomas(lower, diagonal, upper, rhs, x):
    n = diagonal.size
    c = np.empty(n)
    c[0], x[0] = upper[0] / diagonal[0], rhs[0] / diagonal[0]
    for i in range(1, n):
        pivot = diagonal[i] - lower[i] * c[i - 1]
        c[i] = upper[i] / pivot
        x[i] = (rhs[i] - lower[i] * x[i - 1]) / pivot
    for i in range(n - 2, -1, -1):
        x[i] -= c[i] * x[i + 1]


def csr_tanh_in_jax(data, indices, indptr, x):
    n = indptr.size - 1
    rows = jnp.repeat(jnp.arange(n), jnp.diff(indptr), total_repeat_length=data.size)
    products = data * x[indices]
    return jnp.tanh(jax.ops.segment_sum(products, rows, n, indices_are_sorted=True))


def heat_flow_in_jax(start, conductances, ends, steps):
    i, j = ends.T

    def step(u, dt):
        through = dt * conductances * (u[j] - u[i])
        return u.at[i].add(through).at[j].add(-through), None

    return jax.lax.scan(step, start, steps)[0]


def felsenstein_in_jax(children, lengths, frequencies, leaves):
    tips = leaves.shape[0]
    inner = jnp.zeros((children.shape[0], leaves.shape[1], 4))

    def step(partials, node):
        k, children = node
        kept = jnp.exp(-lengths[children])[:, None, None]
        below = partials[children]
        mean = (below @ frequencies)[:, :, None]
        return partials.at[tips + k].set(jnp.prod(kept * below + (1 - kept) * mean, axis=0)), None

    partials = jnp.concatenate([jax.nn.one_hot(leaves, 4), inner])
    partials = jax.lax.scan(step, partials, (jnp.arange(children.shape[0]), children))[0]
    return jnp.log(partials[-1] @ frequencies).sum()


def thomas_in_jax(lower, diagonal, upper, rhs):
    return jax.lax.linalg.tridiagonal_solve(
        lower.at[0].set(0.0), diagonal, upper.at[-1].set(0.0), rhs[:, None]
    )[:, 0]


def sparse(rng, n):
    counts = rng.integers(0, 12, n)
    indptr = np.append(0, counts.cumsum())
    data = rng.normal(size=indptr[-1])
    return data, rng.integers(0, n, indptr[-1]), indptr, rng.normal(size=n)


def graph(rng, n):
    ends = rng.integers(0, n, (3 * n, 2))
    return rng.normal(size=n), rng.uniform(0.5, 1.5, 3 * n), ends, rng.uniform(0.01, 0.05, 10)


def tree(rng, n):
    """A tree of n leaves, joined two by two at random, and 4 n sites."""
    roots, children = list(range(n)), []
    for node in range(n, 2 * n - 1):
        children.append([roots.pop(rng.integers(len(roots))) for _ in range(2)])
        roots.append(node)
    frequencies = rng.uniform(0.5, 1.0, 4)
    lengths, leaves = rng.uniform(0.1, 1.0, 2 * n - 2), rng.integers(0, 4, (n, 4 * n))
    return np.array(children), lengths, frequencies / frequencies.sum(), leaves


KERNELS = [
    Differentiable(
        csr_tanh,
        sparse,
        lambda data, indices, indptr, x: struct(indptr.size - 1),
        csr_tanh_in_jax,
        large=20_000,
    ),
    Differentiable(heat_flow, graph, lambda start, *_: start, heat_flow_in_jax, large=5000),
    Differentiable(felsenstein, tree, lambda *_: struct(), felsenstein_in_jax, large=100),
    Differentiable(
        thomas,
        lambda rng, n: (*rng.uniform(-1, 1, (1, n)), rng.uniform(3, 4, n), *rng.normal(size=(2, n))),
        lambda *ins: ins[-1],
        thomas_in_jax,
        large=20_000,
    ),
]

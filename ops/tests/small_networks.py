"""Populations and matrices that tests of networks are made of."""

import jax
import jax.numpy as jnp
import numpy as np

from event_ops import CSR, CompactCSR, lif_step, neuron_step
from event_ops.network import Network, Population, Record

E, I = 70, 45
DELAYS = np.random.default_rng(4).integers(0, 41, 8 * E)
LIF = {"tau_m": 10.0, "E_L": -65.0, "V_th": -50.0, "V_reset": -65.0, "t_ref": 1.0, "dt": 0.1}
START = {"V_m": -60.0, "refractory": 0.0}
GRID = 16


def on_grid(x):
    """A multiple of 1/16 near x: sums of these are exact in any order."""
    return jnp.floor(x * GRID) / GRID


def move(V_m, I_syn, *, jump, drive):
    return on_grid(V_m * 0.875 + I_syn * 0.5 + jump + drive), on_grid(I_syn * 0.5)


def noisy(V_m, *, jump, xi, tau_m, E_L, dt):
    return E_L + (V_m - E_L) * jnp.exp(-dt / tau_m) + jump + xi


delta = neuron_step(
    noisy,
    threshold=lambda V_m, *, V_th: V_m - V_th,
    reset=lambda V_m, *, V_reset: V_reset,
    held=("V_m",),
    noise={"xi": "normal"},
)


def matrix(rows, columns, weight, seed=0):
    rng = np.random.default_rng(seed)
    nse = 8 * rows
    weights = rng.normal(weight, abs(weight) / 10, nse).astype(np.float32)
    return CSR.from_coo(*(rng.integers(0, n, nse) for n in (rows, columns)), weights, shape=(rows, columns))


def in_two_parts(A, slots=1):
    """Narrow words, the first half of the columns in front, with a scale for each neuron."""
    n = A.shape[0]
    columns, rows = np.asarray(A.indices), np.repeat(np.arange(n), np.diff(A.indptr))
    part, column = np.divmod(columns, E // 2)
    order = np.lexsort((rows, part))
    counts = np.stack([np.bincount(rows[part == k], minlength=n) for k in range(2)])
    ends = np.concatenate([[0], np.cumsum(counts)])
    indptr = np.stack([ends[: n + 1], ends[n:]]).astype(np.int32)
    scale = np.repeat(np.linspace(2, 9, n // slots, dtype="f"), slots)
    return CompactCSR(column[order].astype(np.uint16), indptr, scale, shape=A.shape)


def assert_same(x, y):
    assert jax.tree.structure(x) == jax.tree.structure(y)
    for a, b in zip(jax.tree.leaves(x), jax.tree.leaves(y), strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)


def silent(*projections, inputs=(), size=3, **record):
    """One population that does not spike by itself."""
    population = Population(size, lif_step, I_syn=0.0, **LIF)
    return Network(population, projections, inputs, Record(**record))

"""Currents through gap junctions: those of the graph's Laplacian, conserved, with digits where V is alike."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.sparse
from implemented import backends
from jax.test_util import check_grads

from event_ops import csr_gap_current
from event_ops.cases.draw import Draw

N, NSE = 23, 120


def junctions(dtype="float32"):
    """Return conductances in any place, also of neurons with themselves, and potentials."""
    rng = np.random.default_rng(3)
    data, indices, indptr = Draw(rng, dtype, "int32").csr((N, N), NSE)
    return abs(data), indices, indptr, rng.uniform(-70, -50, N).astype(dtype)


def laplacian(data, indices, indptr):
    A = scipy.sparse.csr_array((data, indices, indptr), (N, N))
    return A - scipy.sparse.diags_array(np.asarray(A.sum(axis=1)))


@backends("csr_gap_current")
def test_currents_are_those_of_the_laplacian(backend):
    with jax.enable_x64(True):
        data, indices, indptr, v = junctions("float64")
        y = csr_gap_current(data, indices, indptr, v, shape=(N, N), backend=backend)
        np.testing.assert_allclose(y, laplacian(data, indices, indptr) @ v, rtol=1e-12, atol=1e-12)
        one = csr_gap_current(0.5, indices, indptr, v, shape=(N, N), backend=backend)
        expected = laplacian(np.full(NSE, 0.5), indices, indptr) @ v
        np.testing.assert_allclose(one, expected, rtol=1e-12, atol=1e-12)


@backends("csr_gap_current")
def test_junctions_that_conduct_both_ways_keep_the_charge(backend):
    data, indices, indptr, v = junctions()
    A = scipy.sparse.csr_array((data, indices, indptr), (N, N))
    A = scipy.sparse.csr_array(A + A.T)
    y = csr_gap_current(A.data, A.indices, A.indptr, v, shape=(N, N), backend=backend)
    assert abs(y).max() > 10
    np.testing.assert_allclose(y.sum(), 0, atol=1e-3)
    assert not csr_gap_current(A.data, A.indices, A.indptr, v * 0 - 65, shape=(N, N), backend=backend).any()


@backends("csr_gap_current")
def test_differences_keep_their_digits(backend):
    data, indices, indptr, _ = junctions()
    v = np.float32(-65) + np.random.default_rng(0).integers(0, 9, N).astype("f") * np.float32(2**-17)
    y = csr_gap_current(data, indices, indptr, v, shape=(N, N), backend=backend)
    exact = laplacian(data.astype("float64"), indices, indptr) @ v.astype("float64")
    np.testing.assert_allclose(y, exact, atol=1e-6 * abs(exact).max())
    # What the product with the Laplacian loses:
    lost = laplacian(data, indices, indptr).astype("f") @ v
    assert abs(lost - exact).max() > 1e-2 * abs(exact).max()


@pytest.mark.slow
@backends("csr_gap_current")
@pytest.mark.parametrize("one_weight", [False, True])
def test_derivatives_in_conductances_and_potentials(backend, one_weight):
    with jax.enable_x64(True):
        data, indices, indptr, v = map(jnp.asarray, junctions("float64"))

        def f(data, v):
            return csr_gap_current(data, indices, indptr, v, shape=(N, N), backend=backend)

        check_grads(f, (jnp.asarray(0.7) if one_weight else data, v / 10), order=2, modes=("fwd", "rev"))


def test_cotangents_of_conductances_keep_their_digits():
    data, indices, indptr, _ = junctions()
    v = np.float32(-65) + np.random.default_rng(0).integers(0, 9, N).astype("f") * np.float32(2**-17)
    found = jax.grad(lambda g: csr_gap_current(g, indices, indptr, v, shape=(N, N)).sum())(data)
    exact = v[indices] - np.repeat(v, np.diff(indptr))  # without rounding
    np.testing.assert_allclose(found, exact, atol=1e-6 * abs(exact).max())


def test_cotangents_of_entries_that_do_not_count_are_0():
    data, indices = np.ones(6, "f"), np.int32([0, 9, 1, -1, 0, 1])
    indptr, v = np.int32([1, 3, 5]), np.float32([np.inf, 1])

    def f(data):
        return csr_gap_current(data, indices, indptr, v, shape=(2, 2)).sum()

    np.testing.assert_array_equal(jax.grad(f)(data), [0, 0, -np.inf, 0, np.inf, 0])


@pytest.mark.slow_cases("numba_cpu")
@backends("csr_gap_current")
def test_batches_of_potentials_and_of_conductances(backend):
    data, indices, indptr, v = junctions()

    def f(data, v):
        return csr_gap_current(data, indices, indptr, v, shape=(N, N), backend=backend)

    vs, gs = np.stack([v, v + 1, 2 * v]), np.stack([data, 2 * data, 0 * data])
    for axes, args in (((None, 0), (data, vs)), ((0, None), (gs, v)), ((0, 0), (gs, vs))):
        rows = [f(*(x if a is None else x[k] for a, x in zip(axes, args, strict=True))) for k in range(3)]
        np.testing.assert_allclose(jax.vmap(f, axes)(*args), np.stack(rows), rtol=1e-5, atol=1e-4)

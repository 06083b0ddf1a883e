"""Derivatives of messages along edges: ties, products with zeros and infinities, loops in a message."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from event_ops import CSR, gspmm

BOTH = ("numba_cpu", "reference")


@pytest.mark.parametrize("reduce", ["max", "min"])
@pytest.mark.parametrize("backend", ["reference", "numba_cpu"])
def test_ties_share_a_cotangent(backend, reduce):
    A = CSR.from_dense(np.ones((1, 3), "f"))
    x = jnp.ones(3)
    ct = jax.grad(lambda x: gspmm(lambda x_src: 2 * x_src, A, x_src=x, reduce=reduce, backend=backend)[0])(x)
    np.testing.assert_allclose(ct, [2 / 3] * 3, rtol=1e-6)


INF = np.inf
FACTORS = [
    [2.0, 5, 3], [2, 0, 3], [0, 0, 3], [-2, 3, -4], [INF, 2, 3], [-INF, 2, 3], [INF, INF, 3], [INF, 0, 2],
    [np.nan, 2, 3], [np.nan, 0, 3], [1e-30, 1e-30, 1e30], [1e30, 1e30, 1e-30], [3e38, 2, 1],
]  # fmt: skip


@pytest.mark.parametrize("backend", ["reference", "numba_cpu"])
def test_products_have_the_derivatives_of_jax(backend):
    A = CSR.from_dense(np.ones((1, 3), "f"))
    f = lambda x: gspmm(lambda x_src: x_src, A, x_src=x, reduce="mul", backend=backend)[0]  # noqa: E731
    found, expected = (jax.jit(jax.grad(g)) for g in (f, jnp.prod))
    for x in FACTORS:
        x = jnp.array(x, "f")
        np.testing.assert_allclose(found(x), expected(x), rtol=1e-5, err_msg=str(x))
    found, expected = (jax.jit(jax.hessian(g)) for g in (f, jnp.prod))
    for x in FACTORS[:4]:
        x = jnp.array(x, "f")
        np.testing.assert_allclose(found(x), expected(x), rtol=1e-5, atol=1e-6, err_msg=str(x))


def turned(turns):
    """Return a message with a loop, in which an operation has the value of each turn for its derivative."""
    return lambda weight, x_src: jax.lax.fori_loop(0, turns, lambda _, y: jnp.sin(y * weight) + x_src, x_src)


def scanned(weight, x_src):
    y, outputs = jax.lax.scan(lambda y, c: (y * weight + c, y * y), x_src, jnp.linspace(0.0, 1.0, 30))
    return y + outputs.sum()


@pytest.mark.parametrize("backend", ["reference", "numba_cpu"])
@pytest.mark.parametrize(("f", "reduce"), [(turned(4), "sum"), (turned(40), "max"), (scanned, "sum")])
def test_loops_in_messages_have_derivatives(f, reduce, backend):
    W = jnp.arange(1.0, 7).reshape(2, 3) / 6
    A, x = CSR.from_dense(W), jnp.array([0.3, 0.5, -0.7])

    def loss(w, x):
        return (gspmm(f, A.with_data(w), x_src=x, reduce=reduce, backend=backend) ** 2).sum()

    def dense(w, x):
        each = jax.vmap(jax.vmap(f), (0, None))(w.reshape(2, 3), x)
        return (getattr(jnp, reduce)(each, 1) ** 2).sum()

    for ours, theirs in zip(*(jax.grad(g, (0, 1))(A.data, x) for g in (loss, dense)), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4)


def test_a_loop_that_is_too_long_for_a_derivative_is_refused_by_name():
    A, f = CSR.from_dense(np.ones((1, 1), "f")), turned(3000)
    assert np.isfinite(gspmm(f, A, x_src=jnp.ones(1))).all()
    with pytest.raises(
        ValueError, match=r"the message 'cotangents of .*<lambda>' is of more than 4096.*fewer turns"
    ):
        jax.grad(lambda x: gspmm(f, A, x_src=x)[0])(jnp.ones(1))


def test_a_batch_of_one():
    A = CSR.from_dense(np.ones((1, 3), "f"))
    f = lambda x: gspmm(lambda x_src: x_src * x_src, A, x_src=x, backend="numba_cpu")[0]  # noqa: E731
    np.testing.assert_array_equal(jax.jacrev(f)(jnp.arange(3.0)), [0, 2, 4])


def test_nan_shows_in_a_maximum_and_passes_no_derivative():
    A = CSR.from_dense(np.ones((2, 2), "f"))
    f = lambda x: gspmm(lambda x_src: x_src, A, x_src=x, reduce="max")  # noqa: E731
    x = jnp.array([np.nan, 1], "f")
    assert np.isnan(f(x)).all()
    np.testing.assert_array_equal(jax.grad(lambda x: f(x)[0])(x), [0, 0])


@pytest.mark.parametrize(
    ("features", "planned", "reduce"),
    [
        (1, True, "sum"),  # on the CPU columns are added up by entry
        (1, False, "max"),
        (40, True, "sum"),  # and these are rows of the transpose
    ],
)
def test_cotangents_at_columns_of_many_entries(features, planned, reduce):
    rng = np.random.default_rng(0)
    rows, columns, nse = 70, 90, 40_000  # of which threads have shares
    ids, ends = rng.integers(-1, columns + 1, nse), np.sort(rng.integers(0, nse + 1, rows + 1))
    A = CSR(jnp.float32(1), ids.astype("i4"), ends.astype("i4"), shape=(rows, columns), validate=False)
    A = A.plan(weights=False) if planned else A
    inputs = (rng.random(nse), rng.random((columns, features)), rng.random((rows, features)))
    inputs = tuple(x.astype(np.float32) for x in inputs)

    def loss(weight, x_src, x_dst, backend):
        matrix = A.with_data(weight)
        how: Any = {"x_src": x_src, "x_dst": x_dst, "reduce": reduce, "backend": backend}
        return (gspmm(lambda weight, x_src, x_dst: weight * x_src - x_dst, matrix, **how) ** 2).sum()

    found, expected = (jax.jit(jax.grad(loss, (0, 1, 2)), static_argnums=3)(*inputs, x) for x in BOTH)
    for x, y in zip(found, expected, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-3, atol=1e-5 * np.abs(y).max())

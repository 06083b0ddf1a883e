"""Products at places are those of JAX, with zeros, infinities and NaN; derivatives are right, or refused."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from event_ops import scatter_mul

INDICES = np.array([0, 0, 1, 2, 2, -1, 7, 4, 4, -9, 3])
TARGET = np.float32([1, 5, 0, np.nan, np.inf, 2, -0.0])
UPDATES = np.float32([2, 3, 0, 4, 5, -6, 9, 0, 7, 8, 2])

backends = pytest.mark.parametrize("backend", ["numba_cpu", "reference", "warp"])


@pytest.mark.slow_cases("int8", "int32", "uint64")
@backends
@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "uint8", "int32", "uint32", "uint64"])
def test_values_are_those_of_jax(backend, dtype):
    with jax.enable_x64(True):
        target, updates = (np.nan_to_num(x, posinf=3).astype(dtype) for x in (TARGET, abs(UPDATES)))
        found = scatter_mul(target, INDICES, updates, backend=backend)
        assert found.dtype == dtype
        np.testing.assert_array_equal(found, jnp.asarray(target).at[INDICES].multiply(updates))


@backends
def test_zeros_infinities_and_nan_are_those_of_jax(backend):
    found = scatter_mul(TARGET, INDICES, UPDATES, backend=backend)
    expected = jnp.asarray(TARGET).at[INDICES].multiply(UPDATES)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))


@backends
def test_derivatives_in_the_target_are_products_of_the_updates(backend):
    f = lambda target: scatter_mul(target, INDICES, UPDATES, backend=backend)  # noqa: E731
    factors = np.float32([6, 0, 20, 2, 0, 1, -6])
    cotangent = jnp.arange(1.0, 8.0)
    (pulled,) = jax.vjp(f, jnp.ones(7))[1](cotangent)
    np.testing.assert_array_equal(pulled, cotangent * factors)
    np.testing.assert_array_equal(jax.jvp(f, (jnp.ones(7),), (cotangent,))[1], cotangent * factors)


def by_a_loop(target, indices, updates):
    """Return the products as JAX multiplies them one by one, which it differentiates without a division."""
    y = list(target)
    for k, i in enumerate(indices):
        if -len(y) <= i < len(y):
            y[i] = y[i] * (updates[k] if updates.ndim else updates)
    return jnp.stack(y)


ZEROS = {  # how many factors of the places 0, 1 and 2 are 0
    "none": ([2.0, 3, -4], [2.0, 3, 0.5, -6, 7, 0.25]),
    "one": ([2.0, 3, -4], [2.0, 0, 0.5, -6, 0, 0.25]),
    "two": ([2.0, 3, -4], [0.0, 0, 0.5, 0, 0, 0.25]),
    "all": ([0.0, 0, 0], [0.0, 0, 0, 0, 0, 0]),
    "target": ([0.0, 3, 0], [2.0, 3, 0, -6, 7, 0.25]),
    "infinite": ([2.0, np.inf, -4], [np.inf, 3, 0.5, 0, 7, 1e38]),
}
WITH_DROPPED = np.array([0, 1, 0, 1, -2, 2])


@pytest.mark.parametrize("case", ZEROS)
@backends
def test_derivatives_in_the_updates_are_products_of_the_others(backend, case):
    target, updates = map(jnp.float32, ZEROS[case])
    cotangent = jnp.float32([1, 2, 3])
    ours = lambda t, u: scatter_mul(t, WITH_DROPPED, u, backend=backend) @ cotangent  # noqa: E731
    theirs = lambda t, u: by_a_loop(t, WITH_DROPPED, u) @ cotangent  # noqa: E731
    for i in (0, 1):
        expected = jax.grad(theirs, i)(target, updates)
        np.testing.assert_allclose(jax.grad(ours, i)(target, updates), expected, rtol=1e-6)


@pytest.mark.parametrize("case", ["one", "two", "all", "target"])
def test_second_derivatives_where_factors_are_zero(case):
    target, updates = map(jnp.float32, ZEROS[case])
    ours = jax.hessian(lambda t, u: (scatter_mul(t, WITH_DROPPED, u) ** 2).sum(), (0, 1))(target, updates)
    theirs = jax.hessian(lambda t, u: (by_a_loop(t, WITH_DROPPED, u) ** 2).sum(), (0, 1))(target, updates)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5), ours, theirs)


def test_derivatives_of_updates_that_are_dropped_are_zero():
    updates = jnp.float32([np.nan, 2, 3, np.inf, np.inf])
    product = lambda u: scatter_mul(jnp.ones(2), np.array([9, 0, 0, -7, 5]), u).sum()  # noqa: E731
    assert jax.grad(product)(updates).tolist() == [0, 3, 2, 0, 0]
    assert np.array_equal(
        jax.hessian(product)(updates), np.eye(5)[[0, 2, 1, 3, 4]] * [[0], [1], [1], [0], [0]]
    )


def test_the_derivative_in_one_update_for_all():
    slope = jax.grad(lambda u: scatter_mul(jnp.float32([2, 3]), np.array([0, 0, 0, 1]), u).sum())
    assert slope(0.0) == 3 and slope(2.0) == 2 * 3 * 4 + 3


@pytest.mark.slow
@pytest.mark.parametrize("size", [1, 300])
def test_many_updates_on_all_threads_are_those_of_one(size):
    rng = np.random.default_rng(0)
    indices, updates = rng.integers(0, size, 50_000), rng.choice(np.float32([1, -1]), 50_000)
    updates[::1000] *= 2  # products of powers of two are exact
    expected = np.ones(size)
    np.multiply.at(expected, indices, updates)
    found = scatter_mul(np.ones(size, "f"), indices, updates, backend="numba_cpu")
    np.testing.assert_array_equal(found, expected)


def test_it_is_an_error_when_run_if_an_index_is_out_of_range():
    f = jax.jit(lambda t, i: scatter_mul(t, i, jnp.arange(3.0), mode="error", backend="numba_cpu"))
    np.testing.assert_array_equal(f(jnp.ones(3), jnp.array([1, 2, -1])), [1, 0, 2])
    for call in (f, jax.jit(jax.grad(lambda t, i: f(t, i).sum()))):
        with pytest.raises((jax.errors.JaxRuntimeError, ValueError), match="an index is out of range"):
            jax.block_until_ready(call(jnp.ones(3), jnp.array([0, 1, 3])))

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


def test_derivatives_in_the_updates_are_refused():
    gradient = jax.grad(lambda updates: scatter_mul(TARGET, INDICES, updates).sum())
    with pytest.raises(NotImplementedError, match=r"no derivatives in updates.*unique_indices=True"):
        gradient(jnp.asarray(UPDATES))


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

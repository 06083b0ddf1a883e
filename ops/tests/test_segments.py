"""Maxima and minima of segments are those of JAX, where values tie, are infinite or NaN; derivatives, too."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import event_ops
from event_ops import segment_max

NUMBER = 5
IDS = jnp.array([0, 0, 1, 1, 1, 0, 2, 2, 4, 9, -1])
TIES = jnp.array([1.0, 1.0, 2.0, 2.0, 2.0, 0.0, jnp.nan, 1.0, -jnp.inf, 7.0, 8.0])
COTANGENT = jnp.arange(1.0, 6.0)

both = pytest.mark.parametrize("how", ["max", "min"])
backends = pytest.mark.parametrize("backend", ["numba_cpu", "reference", "warp"])


def ours(how, backend=None, **options):
    operator = getattr(event_ops, f"segment_{how}")
    return lambda data: operator(data, IDS, NUMBER, backend=backend, **options)


def of_jax(how):
    return lambda data: getattr(jax.ops, f"segment_{how}")(data, IDS, NUMBER)


@both
@backends
@pytest.mark.parametrize("sign", [1, -1])
def test_values_and_cotangents_are_those_of_jax(how, backend, sign):
    data = sign * TIES
    found, expected = ours(how, backend), of_jax(how)
    np.testing.assert_array_equal(found(data), expected(data))
    pulled = (jax.vjp(f, data)[1](COTANGENT)[0] for f in (found, expected))
    np.testing.assert_allclose(*pulled, rtol=1e-6)


@both
@backends
def test_tangents_are_those_of_jax(how, backend):
    # JAX's tangent of a NaN is 0, of an empty segment too.
    tangents = jnp.linspace(1, 2, TIES.size)
    pushed = (jax.jvp(f, (TIES,), (tangents,))[1] for f in (ours(how, backend), of_jax(how)))
    np.testing.assert_allclose(*pushed, rtol=1e-6)


@pytest.mark.slow_cases("numba_cpu")
@both
@backends
def test_rows_under_vmap_and_their_gradient_are_those_of_jax(how, backend):
    data = jnp.asarray(np.random.default_rng(0).integers(-2, 3, (3, IDS.size, 2)), jnp.float32)

    def loss(f):
        return jax.grad(lambda x: jnp.sum(jnp.where(jnp.isfinite(y := jax.vmap(f)(x)), y, 0) ** 2))

    found, expected = (loss(f)(data) for f in (ours(how, backend), of_jax(how)))
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.slow_cases("int64", "int8")
@both
@backends
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint32", "int64", "uint64"])
def test_an_empty_segment_has_the_extreme_of_the_dtype(how, backend, dtype):
    with jax.enable_x64(True):
        limits = np.iinfo(dtype)
        data = np.array([limits.min, limits.max, 0, 1], dtype)
        for ids in ([0, 0, 3, 3], [0, 1, 1, 3]):
            found = getattr(event_ops, f"segment_{how}")(data, np.array(ids), 4, backend=backend)
            expected = getattr(jax.ops, f"segment_{how}")(data, jnp.array(ids), 4)
            assert found.dtype == dtype
            np.testing.assert_array_equal(found, expected)


@both
@backends
@pytest.mark.parametrize("bits", [0x7FC00000, 0xFFC00000, 0x7F800001, 0xFFFFFFFF])
def test_every_nan_is_carried_through(how, backend, bits):
    (nan,) = np.array([bits], np.uint32).view(np.float32)
    for others in ([1.0, -1.0], [np.inf, -np.inf], [-0.0, 0.0]):
        for data in ([nan, *others], [*others, nan]):
            y = getattr(event_ops, f"segment_{how}")(
                np.array(data, "f"), np.zeros(3, int), 1, backend=backend
            )
            assert np.isnan(y).all()


@pytest.mark.slow
@both
def test_sorted_data_on_all_threads_are_those_of_one(how):
    rng = np.random.default_rng(0)
    ids, data = np.sort(rng.integers(0, 700, 50_000)), rng.standard_normal((50_000, 2)).astype("f")
    data[rng.integers(0, data.shape[0], 20)] = np.nan
    operator = getattr(event_ops, f"segment_{how}")
    found = [operator(data, ids, 700, indices_are_sorted=s, backend="numba_cpu") for s in (True, False)]
    expected = getattr(jax.ops, f"segment_{how}")(data, ids, 700)
    for y in found:
        np.testing.assert_array_equal(y, expected)


@both
def test_an_error_has_derivatives(how):
    f = jax.jit(jax.grad(lambda data, ids: operator(data, ids, 3, mode="error", backend="numba_cpu").sum()))
    operator = getattr(event_ops, f"segment_{how}")
    data = jnp.arange(4.0)
    expected = {"max": [1, 0, 1, 1], "min": [1, 1, 0, 1]}[how]
    np.testing.assert_array_equal(f(data, jnp.array([0, 1, 1, 2])), expected)
    with pytest.raises((jax.errors.JaxRuntimeError, ValueError), match="an index is out of range"):
        jax.block_until_ready(f(data, jnp.array([0, 1, 3, 2])))


def test_complex_numbers_have_no_order():
    with pytest.raises(TypeError, match=r"data has dtype complex64.*pass data.real, or jnp.abs\(data\)"):
        segment_max(np.ones(3, "c8"), np.zeros(3, int), 2)

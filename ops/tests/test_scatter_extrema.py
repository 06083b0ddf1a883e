"""Scatters of maxima and minima are those of JAX, where values tie, are infinite or NaN; derivatives, too."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import event_ops

INDICES = jnp.array([0, 0, 1, 2, 2, -1, 7, 4, 4, -9, 3])
TARGET = jnp.array([1.0, 5.0, 3.0, jnp.nan, -jnp.inf, 2.0, jnp.nan])
UPDATES = jnp.array([1.0, 1.0, 4.0, 6.0, 6.0, 6.0, 9.0, -jnp.inf, -jnp.inf, 8.0, 2.0]).at[5].set(jnp.nan)
COTANGENT = jnp.arange(1.0, 8.0)

both = pytest.mark.parametrize("how", ["max", "min"])
backends = pytest.mark.parametrize("backend", ["numba_cpu", "reference", "warp"])


def ours(how, backend=None, **options):
    operator = getattr(event_ops, f"scatter_{how}")
    return lambda target, updates: operator(target, INDICES, updates, backend=backend, **options)


def of_jax(how):
    # JAX would drop what is out of range; a gather, which its derivatives have, may clip it.
    return lambda target, updates: getattr(target.at[INDICES], how)(updates, mode="drop")


@pytest.mark.slow_cases("numba_cpu")
@both
@backends
@pytest.mark.parametrize("sign", [1, -1])
def test_values_and_cotangents_are_those_of_jax(how, backend, sign):
    given = sign * TARGET, sign * UPDATES
    found, expected = ours(how, backend), of_jax(how)
    np.testing.assert_array_equal(found(*given), expected(*given))
    for a, b in zip(*(jax.vjp(f, *given)[1](COTANGENT) for f in (found, expected)), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)


@both
@backends
def test_tangents_are_those_of_jax(how, backend):
    tangents = jnp.linspace(1, 2, TARGET.size), jnp.linspace(3, 4, UPDATES.size)
    a, b = (jax.jvp(f, (TARGET, UPDATES), tangents)[1] for f in (ours(how, backend), of_jax(how)))
    np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-6)


@pytest.mark.slow
@both
@backends
def test_one_update_for_all_and_its_cotangent_are_those_of_jax(how, backend):
    target, update = jnp.array([[1.0, 2.0], [3.0, -1.0], [0.0, 2.0]]), jnp.float32(2)
    indices = jnp.array([0, 0, 2, 5])
    operator = getattr(event_ops, f"scatter_{how}")
    found = lambda t, u: operator(t, indices, u, backend=backend)  # noqa: E731
    expected = lambda t, u: getattr(t.at[indices], how)(u)  # noqa: E731
    np.testing.assert_array_equal(found(target, update), expected(target, update))
    weights = jnp.arange(6.0).reshape(3, 2)
    for a, b in zip(*(jax.vjp(f, target, update)[1](weights) for f in (found, expected)), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)


@both
@backends
@pytest.mark.parametrize("bits", [0x7FC00000, 0xFFC00000, 0x7F800001, 0xFFFFFFFF])
def test_every_nan_is_carried_through(how, backend, bits):
    (nan,) = np.array([bits], np.uint32).view(np.float32)
    operator = getattr(event_ops, f"scatter_{how}")
    for other in (1.0, -1.0, np.inf, -np.inf, -0.0):
        target, updates = np.array([nan, other], "f"), np.array([other, nan], "f")
        assert np.isnan(operator(target, np.arange(2), updates, backend=backend)).all()


@pytest.mark.slow
@both
def test_many_updates_on_all_threads_are_those_of_jax(how):
    rng = np.random.default_rng(0)
    target, updates = rng.standard_normal((50, 2)).astype("f"), rng.standard_normal((40_000, 2)).astype("f")
    indices = rng.integers(-60, 60, updates.shape[0])
    updates[rng.integers(0, updates.shape[0], 5)] = np.nan
    found = getattr(event_ops, f"scatter_{how}")(target, indices, updates, backend="numba_cpu")
    np.testing.assert_array_equal(found, getattr(jnp.asarray(target).at[indices], how)(updates, mode="drop"))


@both
def test_a_loop_updates_the_target_in_place(how):
    indices, updates = jnp.arange(5), jnp.ones(5)
    operator = getattr(event_ops, f"scatter_{how}")
    step = lambda _, total: operator(total, indices, updates, backend="numba_cpu")  # noqa: E731
    loop = jax.jit(lambda total: jax.lax.fori_loop(0, 9, step, total))
    computations = loop.lower(jnp.zeros(64)).compile().as_text().split("\n}\n")
    (body,) = [text for text in computations if text.count(" custom-call(") == 1]
    assert " copy(" not in body


@both
def test_an_error_has_derivatives(how):
    operator = getattr(event_ops, f"scatter_{how}")
    f = jax.jit(
        jax.grad(lambda t, i: operator(t, i, jnp.arange(3.0), mode="error", backend="numba_cpu").sum())
    )
    target = jnp.full(3, 1.0)
    expected = {"max": [1, 0.5, 0], "min": [0, 0.5, 1]}[how]
    np.testing.assert_allclose(f(target, jnp.array([0, 1, -1])), expected)
    with pytest.raises((jax.errors.JaxRuntimeError, ValueError), match="an index is out of range"):
        jax.block_until_ready(f(target, jnp.array([0, 1, 3])))


@both
def test_complex_numbers_have_no_order(how):
    with pytest.raises(
        TypeError, match=r"target has dtype complex64.*pass target.real, or jnp.abs\(target\)"
    ):
        getattr(event_ops, f"scatter_{how}")(np.ones(3, "c8"), np.zeros(2, int), np.ones(2, "c8"))

"""Means and softmax of segments are those of a plain loop, on every backend; and their derivatives."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.test_util import check_grads

from event_ops import segment_mean, segment_softmax

NUMBER = 6
BACKENDS = ("numba_cpu", "reference", "warp")
IDS = np.array([0, 2, 0, 3, 3, 9, 2, 0, -1, 5, 3])  # none is 1 or 4, two are out of range
backends = pytest.mark.parametrize("backend", BACKENDS)
rows = pytest.mark.parametrize("row", [(), (3,), (2, 2)], ids=str)


def numbers(row=(), seed=0):
    return np.random.default_rng(seed).standard_normal((IDS.size, *row))


def clipped(mode):
    return np.clip(IDS, 0, NUMBER - 1) if mode == "clip" else IDS


def mean_by_loop(data, mode):
    y = np.zeros((NUMBER, *data.shape[1:]), data.dtype)
    for i in set(clipped(mode)) & set(range(NUMBER)):
        y[i] = data[clipped(mode) == i].mean(0)
    return y


def softmax_by_loop(logits, mode="drop"):
    y = np.zeros_like(logits)
    for i in set(clipped(mode)) & set(range(NUMBER)):
        mine = clipped(mode) == i
        y[mine] = jax.nn.softmax(logits[mine], axis=0)
    return y


@backends
@rows
@pytest.mark.parametrize("mode", ["drop", pytest.param("clip", marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("function", "by_loop"), [(segment_mean, mean_by_loop), (segment_softmax, softmax_by_loop)]
)
def test_values_are_those_of_a_loop(backend, row, mode, function, by_loop):
    data = numbers(row).astype("f")
    found = function(data, IDS, NUMBER, mode=mode, backend=backend)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, by_loop(data, mode), rtol=1e-5, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float64", "complex64", "complex128"])
def test_means_of_other_dtypes(dtype):
    with jax.enable_x64(True):
        data = (numbers((2,)) + (1j * numbers((2,), 1) if dtype[0] == "c" else 0)).astype(dtype)
        found = segment_mean(data, IDS, NUMBER)
        assert found.dtype == dtype
        np.testing.assert_allclose(found, mean_by_loop(data, "drop"), rtol=1e-5)


@pytest.mark.slow
def test_a_mean_counts_on_where_float32_ends():
    n = 2**24 + 4
    data, ids = jnp.zeros(n).at[0].set(2.0 * n), jnp.zeros(n, jnp.int32)
    assert segment_mean(data, ids, 1, indices_are_sorted=True, backend="numba_cpu") == 2


@backends
def test_no_logit_is_too_large_or_too_small(backend):
    logits = np.float32([1e4, -1e4, 1e4 - 1, -1e4, -1e4, 3e38, -1e4 + 1, -3e38, 3e38, 3e38, -1e4])
    found = segment_softmax(logits, IDS, NUMBER, backend=backend)
    np.testing.assert_allclose(found, softmax_by_loop(logits), rtol=1e-6)
    assert np.isfinite(found).all() and np.asarray(found).sum() == pytest.approx(4)


@pytest.mark.slow_cases("numba_cpu")
@backends
def test_logits_of_minus_infinity_have_no_weight_and_derivatives_of_zero(backend):
    logits = numbers().astype("f")
    logits[[2, 9]] = -np.inf  # one of three in segment 0, and the only one of segment 5
    weights = jnp.arange(1.0, IDS.size + 1)

    def loss(x):
        return jnp.vdot(segment_softmax(x, IDS, NUMBER, backend=backend), weights)

    def by_loop(x):
        parts = [jnp.flatnonzero(jnp.asarray(i == IDS)) for i in (0, 2, 3)]
        return sum(jnp.vdot(jax.nn.softmax(x[at]), weights[at]) for at in parts)

    found = segment_softmax(logits, IDS, NUMBER, backend=backend)
    assert found[2] == found[9] == 0
    np.testing.assert_allclose(found[0] + found[7], 1, rtol=1e-6)
    np.testing.assert_allclose(jax.grad(loss)(logits), jax.grad(by_loop)(jnp.asarray(logits)), atol=1e-6)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_not_a_number_stays_in_its_segment(bad):
    logits = numbers().astype("f")
    logits[[3, 5]] = bad  # the second is dropped
    found = segment_softmax(logits, IDS, NUMBER)
    np.testing.assert_array_equal(np.isnan(found), IDS == 3)


@pytest.mark.slow
@backends
@pytest.mark.parametrize("function", [segment_mean, segment_softmax])
def test_derivatives_of_both_orders(backend, function):
    with jax.enable_x64(True):
        f = jax.jit(lambda x: function(x, IDS, NUMBER, backend=backend))
        check_grads(f, (jnp.asarray(numbers((2,))),), order=2, modes=["fwd", "rev"])


@pytest.mark.slow
@pytest.mark.parametrize("function", [segment_mean, segment_softmax])
def test_vmap_is_a_loop_and_so_is_its_gradient(function):
    batch = jnp.asarray(np.stack([numbers((2,), seed) for seed in range(3)]), jnp.float32)
    one = lambda x: function(x, IDS, NUMBER)  # noqa: E731
    np.testing.assert_allclose(jax.vmap(one)(batch), jnp.stack(list(map(one, batch))), rtol=1e-5)
    gradient = jax.grad(lambda x: jnp.sum(one(x) ** 2))
    np.testing.assert_allclose(
        jax.vmap(gradient)(batch), jnp.stack(list(map(gradient, batch))), rtol=1e-4, atol=1e-6
    )
    ids = jnp.asarray(np.stack([IDS, IDS[::-1], np.roll(IDS, 3)]))
    mapped = jax.vmap(lambda x, ids: function(x, ids, NUMBER))(batch, ids)
    each = jnp.stack([function(x, i, NUMBER) for x, i in zip(batch, ids, strict=True)])
    np.testing.assert_allclose(mapped, each, rtol=1e-5)


@pytest.mark.slow
def test_nothing_and_no_segments():
    nothing, none = (jnp.zeros((0, 2)), jnp.zeros(0, int)), (jnp.ones((4, 2)), jnp.zeros(4, int))
    np.testing.assert_array_equal(segment_mean(*nothing, 3), np.zeros((3, 2)))
    np.testing.assert_array_equal(segment_softmax(*nothing, 3), np.zeros((0, 2)))
    np.testing.assert_array_equal(segment_mean(*none, 0), np.zeros((0, 2)))
    np.testing.assert_array_equal(segment_softmax(*none, 0), np.zeros((4, 2)))


@pytest.mark.parametrize("function", [segment_mean, segment_softmax])
def test_wrong_arguments_are_refused(function):
    ids = np.zeros(3, int)
    with pytest.raises(TypeError, match=r"has dtype int32; expected float32 or float64.*astype\('float32'\)"):
        function(np.ones(3, "i4"), ids, 2)
    with pytest.raises(ValueError, match=r"data has shape \(2,\) and segment_ids \(3,\)"):
        function(np.ones(2, "f"), ids, 2)
    with pytest.raises(ValueError, match=r"data has shape \(\)"):
        function(np.float32(1), ids, 2)
    with pytest.raises(ValueError, match="num_segments is -1"):
        function(np.ones(3, "f"), ids, -1)
    with pytest.raises(TypeError, match="known when traced"):
        jax.jit(lambda n: function(np.ones(3, "f"), ids, n))(2)
    with pytest.raises(IndexError, match="segment_ids contains 2"):
        function(np.ones(3, "f"), ids + 2, 2, mode="error")

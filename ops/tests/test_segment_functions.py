"""Products, variances and logarithms of segments are those of NumPy and SciPy, and their derivatives."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.special
from jax.test_util import check_grads

from event_ops import segment_log_softmax, segment_logsumexp, segment_prod, segment_var

NUMBER = 6
BACKENDS = ("numba_cpu", "reference", "warp")
IDS = np.array([0, 2, 0, 3, 3, 9, 2, 0, -1, 5, 3])  # none is 1 or 4, two are out of range
backends = pytest.mark.parametrize("backend", BACKENDS)
rows = pytest.mark.parametrize("row", [(), (3,), (2, 2)], ids=str)
INF, NAN = np.inf, np.nan


def numbers(row=(), seed=0):
    return np.random.default_rng(seed).standard_normal((IDS.size, *row))


def each(of, empty):
    """Return the function of all data that is `of` of each segment."""

    def loop(data, ids=IDS):
        parts = [data[ids == i] for i in range(NUMBER)]
        return np.stack([of(x) if len(x) else np.full(data.shape[1:], empty) for x in parts])

    return loop


def log_softmax_by_loop(data):
    y = np.full_like(data, -INF)
    for i in (0, 2, 3, 5):
        y[i == IDS] = scipy.special.log_softmax(data[i == IDS], axis=0)
    return y


FUNCTIONS = {
    "prod": (segment_prod, each(lambda x: x.prod(0), 1)),
    "var": (segment_var, each(lambda x: x.var(0), 0)),
    "logsumexp": (segment_logsumexp, each(lambda x: scipy.special.logsumexp(x, axis=0), -INF)),
    "log_softmax": (segment_log_softmax, log_softmax_by_loop),
}
functions = pytest.mark.parametrize("name", FUNCTIONS)


@backends
@rows
@functions
def test_values_are_those_of_each_segment(backend, row, name):
    function, by_loop = FUNCTIONS[name]
    data = numbers(row).astype("f")
    found = function(data, IDS, NUMBER, backend=backend)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, by_loop(data.astype(float)), rtol=2e-5, atol=1e-6)


@functions
def test_ids_that_are_clipped_and_no_segments(name):
    function, _ = FUNCTIONS[name]
    data = numbers((2,)).astype("f")
    clipped = function(data, IDS, NUMBER, mode="clip")
    np.testing.assert_array_equal(clipped, function(data, np.clip(IDS, 0, NUMBER - 1), NUMBER))
    assert function(data, IDS, 0).shape == (data.shape if name == "log_softmax" else (0, 2))
    with pytest.raises(IndexError, match="segment_ids contains 9"):
        function(data, IDS, NUMBER, mode="error")
    alone = function(data, IDS, NUMBER)
    np.testing.assert_allclose(jax.jit(function, static_argnums=2)(data, IDS, NUMBER), alone, rtol=1e-6)
    batch = jax.vmap(lambda x: function(x, IDS, NUMBER))(np.stack([data, 2 * data]))
    np.testing.assert_allclose(batch[0], alone, rtol=1e-5)


@functions
def test_first_and_second_derivatives(name):
    function, _ = FUNCTIONS[name]
    inside = np.isin(IDS, range(NUMBER))
    ids = IDS[inside]
    some = np.unique(ids)

    def finite(data):
        y = function(data, ids, NUMBER)
        return y if y.shape == data.shape else y[some]

    with jax.enable_x64(True):
        check_grads(finite, (numbers((2,))[inside],), order=2, modes=("fwd", "rev"), rtol=1e-4)


@functions
def test_data_that_are_dropped_have_no_part_in_derivatives(name):
    function, _ = FUNCTIONS[name]
    data = jnp.asarray(numbers()).at[jnp.array([5, 8])].set(NAN)
    some = np.array([0, 2, 3, 5])

    def loss(x):
        y = function(x, IDS, NUMBER)
        return (y[np.isin(IDS, some)] if y.shape == x.shape else y[some]).sum() ** 2

    for derivative in (jax.grad(loss)(data), jax.hessian(loss)(data).sum(0)):
        assert np.isfinite(derivative).all() and not derivative[5] and not derivative[8]


def test_products_with_zeros_and_integers():
    product = lambda x: segment_prod(x, np.array([0, 0, 1, 1, -1]), 3).sum()  # noqa: E731
    assert jax.grad(product)(jnp.array([0.0, 5, 0, 0, 7])).tolist() == [5, 0, 0, 0, 0]
    assert segment_prod(np.int8([3, -4, 5]), np.int32([0, 0, 2]), 3).tolist() == [-12, 1, 5]
    f = jax.jit(lambda i: segment_prod(jnp.ones(2), i, 3, mode="error", backend="numba_cpu"))
    with pytest.raises((jax.errors.JaxRuntimeError, ValueError), match="out of range"):
        jax.block_until_ready(f(jnp.array([0, -1])))


@pytest.mark.parametrize("ddof", [0, 1, 2, 5])
def test_variances_less_some_degrees_of_freedom(ddof):
    data = numbers().astype("f")
    found = segment_var(data, IDS, NUMBER, ddof=ddof)
    of = lambda x: x.var(0, ddof=ddof) if len(x) > ddof else 0.0  # noqa: E731
    np.testing.assert_allclose(found, each(of, 0)(data.astype(float)), rtol=1e-5)


@backends
def test_variances_of_data_with_a_large_mean(backend):
    data = np.float32(1e4) + np.float32([0, 1, 2, 3] * 30_000)
    found = segment_var(data, np.zeros(data.size, int), 1, backend=backend)
    np.testing.assert_allclose(found, [data.astype(float).var()], rtol=1e-5)


def test_variances_of_complex_data():
    data = (numbers() + 1j * numbers(seed=1)).astype("complex64")
    found = segment_var(data, IDS, NUMBER)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, each(lambda x: x.var(0), 0)(data), rtol=1e-5)


@pytest.mark.parametrize(("ddof", "error"), [(0.5, TypeError), (-1, ValueError), (None, TypeError)])
def test_degrees_of_freedom_that_are_refused(ddof, error):
    with pytest.raises(error, match="ddof is"):
        segment_var(numbers(), IDS, NUMBER, ddof=ddof)


@backends
def test_logarithms_of_infinite_and_large_data(backend):
    data = jnp.array([-INF, 2, -INF, INF, 1, 3e38, -3e38, NAN, -200, 0])
    ids = jnp.array([0, 1, 0, 2, 2, 3, 3, 4, 5, 5])
    found = segment_logsumexp(data, ids, 7, backend=backend)
    expected = [jax.nn.logsumexp(data[ids == i]) if i < 6 else -INF for i in range(7)]
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    logs = segment_log_softmax(data, ids, 7, backend=backend)
    np.testing.assert_array_equal(logs[jnp.array([0, 1, 2, 5, 7, 8, 9])], [-INF, 0, -INF, 0, NAN, -200, 0])
    slopes = jax.grad(lambda x: segment_logsumexp(x, ids[:3], 2, backend=backend)[1])(data[:3])
    np.testing.assert_array_equal(slopes, [0, 1, 0])
    whole = jax.grad(lambda x: segment_logsumexp(x, jnp.zeros(3, int), 1)[0])(jnp.array([-INF, 2.0, 2]))
    np.testing.assert_allclose(whole, [0, 0.5, 0.5])

"""Sums of many small terms in a segment: the relative error is the one that `segment_sum` says."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from event_ops import segment_mean, segment_sum

HALF_ULP = 2.0**-24
SIZE = 3
backends = pytest.mark.parametrize("backend", ["numba_cpu", "reference", "warp"])


def errors(terms, ids, **options):
    """Return the relative errors of sums of one number each, which is a segment's number of times 0.1."""
    data = np.full((ids.size, 2), 0.1, terms)
    found = segment_sum(data, ids, SIZE, **options)
    assert found.dtype == terms
    exact = np.bincount(ids, minlength=SIZE)[:, None] * np.longdouble(data[0, 0].real)
    return np.max(np.abs(np.asarray(found) - exact) / exact)


@pytest.mark.parametrize("ascending", [False, True], ids=["", "sorted"])
@backends
@pytest.mark.parametrize("count", [5000, 300_000], ids=["one-thread", "threads"])
def test_sums_in_float32_are_rounded_once(backend, ascending, count):
    ids = np.arange(count) % SIZE
    ids = np.sort(ids) if ascending else ids
    assert errors("float32", ids, indices_are_sorted=ascending, backend=backend) <= HALF_ULP


@pytest.mark.parametrize("backend", ["numba_cpu", "reference"])
def test_complex_sums_are_rounded_once(backend):
    assert errors("complex64", np.arange(50_000) % SIZE, backend=backend) <= HALF_ULP


@backends
def test_sums_in_float64_have_the_error_of_a_sum_one_by_one(backend):
    with jax.enable_x64(True):
        assert errors("float64", np.arange(30_000) % SIZE, backend=backend) <= 10_000 * 2.0**-53


@pytest.mark.parametrize("options", [{}, {"indices_are_sorted": True}, {"deterministic": True}], ids=str)
@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_sums_on_a_gpu(on_gpu, dtype, options):
    ids = np.sort(np.arange(6000) % SIZE)
    bound = 9 * HALF_ULP if options.get("indices_are_sorted") else HALF_ULP
    assert errors(dtype, ids, backend="numba_cuda", **options) <= bound


def test_sums_by_warp_on_a_gpu(warp_on_gpu):
    assert errors("float32", np.arange(6000) % SIZE, backend="warp") <= HALF_ULP


@backends
def test_wide_sums_leave_64_bits_off(backend):
    data, ids = jnp.full((2, 4000), 0.1), jnp.zeros(4000, jnp.int32)
    total = lambda x: segment_sum(x, ids, 1, backend=backend)  # noqa: E731
    each = jax.jit(jax.vmap(total))(data)
    assert each.dtype == jnp.float32 and np.allclose(each, 400, rtol=HALF_ULP)
    slope = jax.jit(jax.grad(lambda x: total(x)[0] ** 2))(data[0])
    np.testing.assert_array_equal(slope, np.full(4000, 2 * each[0, 0]))


@pytest.mark.slow
@pytest.mark.parametrize("ascending", [False, True], ids=["", "sorted"])
@pytest.mark.parametrize("backend", ["numba_cpu", "reference"])
def test_sums_and_means_of_2_to_the_26_terms(backend, ascending):
    data, ids = np.full(2**26, 0.1, np.float32), np.zeros(2**26, np.int32)
    options = {"indices_are_sorted": ascending, "backend": backend}
    assert segment_sum(data, ids, 1, **options)[0] == np.float32(2**26 * np.float64(data[0]))
    assert segment_mean(data, ids, 1, **options)[0] == data[0]
    assert segment_sum(np.ones_like(data), ids, 1, **options)[0] == 2**26

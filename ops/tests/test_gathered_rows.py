"""Products that gather rows: each index is compared with the number of columns, whatever its dtype."""

import jax
import numpy as np
import pytest

from event_ops import csr_event_matvec, csr_matvec


@pytest.mark.slow_cases("int64", "uint32", "uint64")
@pytest.mark.parametrize("dtype", ["int32", "uint32", "int64", "uint64"])
def test_indices_of_any_dtype_are_told_from_those_out_of_range(dtype):
    rng, last, columns = np.random.default_rng(0), np.iinfo(dtype).max, 100
    indices = rng.integers(0, columns, (6, 37)).astype(dtype)
    outside = rng.random(indices.shape) < [[0], [0], [0.05], [0.05], [0.5], [1]]
    far = np.array([columns, 2**31 - 1, last // 2 + 1, last], dtype)
    indices[outside] = rng.choice(far, outside.sum())
    data, v = rng.integers(1, 9, indices.shape).astype("f"), rng.integers(1, 9, columns).astype("f")
    expected = (data * v[np.where(outside, 0, indices)] * ~outside).sum(axis=1)
    with jax.enable_x64(True):
        matrix = data.ravel(), indices.ravel(), np.arange(0, data.size + 1, 37)
        for product in (csr_matvec, csr_event_matvec):
            y = product(*matrix, v, shape=(6, columns), backend="numba_cpu")
            np.testing.assert_array_equal(y, expected)


def test_what_an_active_event_meets_is_carried_through():
    rng = np.random.default_rng(1)
    data = rng.standard_normal((3, 40)).astype("f")
    data[0, 3], data[1, 5], data[1, 6] = np.nan, np.inf, np.inf
    events = np.ones(40, bool)
    events[5] = False
    indices, ends = np.tile(np.arange(40), 3), np.arange(0, 121, 40)
    y = csr_event_matvec(data.ravel(), indices, ends, events, shape=(3, 40), backend="numba_cpu")
    assert np.isnan(y[0]) and np.isposinf(y[1])
    np.testing.assert_allclose(y[2], data[2, events].sum(), rtol=1e-5)

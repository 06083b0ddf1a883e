"""The exponentials of the CPU's kernels, against those of more digits."""

import numba
import numpy as np
import pytest

from event_ops.kernels.numba_cpu.exponential import exp, expm1, tanh
from event_ops.kernels.numba_cpu.jit import CONTRACT, REORDER


@numba.njit(fastmath=REORDER)
def fill(x, y):
    for i in range(x.size):
        y[i] = exp(x[i])


def exp_of(x):
    y = np.empty_like(x)
    fill(x, y)
    return y


@pytest.mark.parametrize(
    ("dtype", "low", "high"), [("float32", -87.3, 88.72283), ("float64", -708.3, 709.7827)]
)
def test_exp_is_within_a_unit_in_the_last_place(dtype, low, high):
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.uniform(low, high, 50_000), rng.normal(0, 1, 50_000), [0, low, high]]).astype(
        dtype
    )
    exact = np.exp(x.astype(np.longdouble))
    assert (np.abs(exp_of(x) - exact) < np.spacing(exact.astype(dtype))).all()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_exp_where_it_has_no_digits(dtype):
    payload = np.array([np.nan], dtype).view(f"i{np.dtype(dtype).itemsize}") + 257  # a NaN with other bits
    x = np.concatenate([np.array([np.nan, np.inf, -np.inf, 1e4, -1e4], dtype), payload.view(dtype)])
    np.testing.assert_array_equal(exp_of(x), np.array([np.nan, np.inf, 0, np.inf, 0, np.nan], dtype))


@numba.njit(fastmath=CONTRACT)
def fill_others(x, y, z):
    for i in range(x.size):
        y[i], z[i] = expm1(x[i]), tanh(x[i])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_expm1_and_tanh_keep_the_digits_near_0(dtype):
    x = np.random.default_rng(0).normal(0, 1, 50_000)
    near, rare = (
        x * 10.0 ** -np.arange(x.size).clip(0, 30),
        [0, np.nan, np.inf, -np.inf, 80, -80, 20, 0.34657],
    )
    top = np.log(float(np.finfo(dtype).max)) - np.linspace(0.001, 1, 500)
    x = np.concatenate([x, 5 * x, near, rare, top]).astype(dtype)
    found = np.empty_like(x), np.empty_like(x)
    fill_others(x, *found)
    for y, f in zip(found, (np.expm1, np.tanh), strict=True):
        exact = f(x.astype(np.longdouble))
        with np.errstate(invalid="ignore"):
            units = np.abs(y - exact) / np.spacing(np.abs(exact).astype(dtype))
        known = np.isfinite(exact)
        assert units[known].max() < 5
        np.testing.assert_array_equal(y[~known], exact[~known].astype(dtype))

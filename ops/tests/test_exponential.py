"""The exponential of the CPU's kernels, against one of more digits."""

import numba
import numpy as np
import pytest

from event_ops.parts.numba_cpu.exponential import exp


@numba.njit(fastmath={"contract", "reassoc", "nsz", "arcp"})
def fill(x, y):
    for i in range(x.size):
        y[i] = exp(x[i])


def exp_of(x):
    y = np.empty_like(x)
    fill(x, y)
    return y


@pytest.mark.parametrize(("dtype", "low", "high"), [("float32", -87, 88), ("float64", -708, 709)])
def test_exp_is_within_a_unit_in_the_last_place(dtype, low, high):
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.uniform(low, high, 50_000), rng.normal(0, 1, 50_000), [0, low, high]]).astype(
        dtype
    )
    exact = np.exp(x.astype(np.longdouble))
    assert (np.abs(exp_of(x) - exact) < np.spacing(exact.astype(dtype))).all()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_exp_where_it_has_no_digits(dtype):
    x = np.array([np.nan, np.inf, -np.inf, 1e4, -1e4], dtype)
    np.testing.assert_array_equal(exp_of(x), np.array([np.nan, np.inf, 0, np.inf, 0], dtype))

"""Powers of the CPU's kernels, against those of more digits and against NumPy's where they are special."""

import numba
import numpy as np

from event_ops.kernels.numba_cpu.power import power


@numba.njit
def fill(x, y, z):
    for i in range(x.size):
        z[i] = power(x[i], y[i])


def power_of(x, y):
    z = np.empty_like(x)
    fill(x, y, z)
    return z


def test_powers_are_within_a_unit_in_the_last_place():
    rng = np.random.default_rng(0)
    x = np.exp(rng.uniform(-87, 88, 50_000)).astype(np.float32)
    x[:1000] = rng.integers(1, 1 << 22, 1000).astype(np.uint32).view(np.float32)  # below the normal numbers
    y = rng.normal(0, 2, x.size).astype(np.float32)
    exact = np.power(x.astype(np.longdouble), y.astype(np.longdouble))
    with np.errstate(over="ignore", under="ignore"):
        rounded = exact.astype(np.float32)
    found, whole = power_of(x, y), np.isfinite(rounded) & (rounded > 0)
    assert (np.abs(found[whole] - exact[whole]) < np.spacing(rounded[whole])).all()
    np.testing.assert_array_equal(found[~whole], rounded[~whole])


def test_special_powers_are_those_of_c():
    values = [0, -0.0, 1, -1, 2, -2, 0.5, -0.5, np.inf, -np.inf, np.nan, 3, -3, 1e-45, -1e-45, 3e38]
    x, y = map(np.ravel, np.meshgrid(*[np.array(values, np.float32)] * 2))
    with np.errstate(all="ignore"):
        # Of more digits: NumPy's own vectors of float32 are a unit in the last place off on some processors.
        expected = np.power(x.astype(np.longdouble), y.astype(np.longdouble)).astype(np.float32)
    found = power_of(x, y)
    np.testing.assert_array_equal(found, expected)
    known = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(found[known]), np.signbit(expected[known]))

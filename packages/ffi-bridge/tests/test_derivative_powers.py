"""Derivatives of `x ** n` for an integer n that is known when the kernel runs, or before."""

import jax
import numba
import numpy as np
import pytest
from derivatives import check, differentiable, needs_enzyme, struct

pytestmark = needs_enzyme


@numba.njit
def powers(x, n, y):
    for i in range(x.size):
        y[i] = x[i] ** n[i]


@numba.njit
def table_of_powers(x, y):
    for i in range(x.size):
        for n in range(y.shape[1]):
            y[i, n] = x[i] ** (n - 3)


@numba.njit
def powers_by_magnitude(x, n, y):
    for i in range(x.size):
        y[i] = x[i] ** abs(n[i])


@numba.njit
def known_powers(x, y):
    for i in range(x.size):
        y[i] = x[i] ** 3 - x[i] ** 10 / 4 + x[i] ** -2


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["int64", "int32", "uint8"])
def test_as_differences_say(dtype):
    x = np.linspace(0.5, 1.5, 8) * np.where(np.arange(8) % 2, 1, -1)
    n = np.arange(8).astype(dtype) if dtype == "uint8" else np.arange(-3, 5).astype(dtype)
    check(lambda x: differentiable(powers, lambda x, n: x)(x, n), x, order=2)


@pytest.mark.slow
def test_of_exponents_that_are_known():
    f, x = differentiable(known_powers, lambda x: x), np.linspace(0.5, 1.5, 7)
    expected = 3 * x**2 - 2.5 * x**9 - 2 * x**-3.0
    np.testing.assert_allclose(jax.grad(lambda x: f(x).sum())(x), expected, rtol=1e-13)
    check(f, x, order=2)


def test_beside_functions_of_llvm_that_a_power_needs():
    x, n = np.linspace(0.5, 1.5, 8), np.arange(-4, 4)
    check(lambda x: differentiable(powers_by_magnitude, lambda x, n: x)(x, n), x)


@pytest.mark.slow
def test_of_each_element_to_each_power():
    check(differentiable(table_of_powers, lambda x: struct(x.size, 9)), np.linspace(0.5, 1.6, 7), order=2)


def test_of_zero_and_of_exponents_beyond_those_of_the_loop():
    x = np.array([0.0, 0.0, 0.0, 1.0 + 1e-7, 1.0 - 1e-7])
    n = np.array([0, 1, 2, 1_000_000, -1_000_000])
    f = differentiable(powers, lambda x, n: x)
    y, slope = jax.jvp(lambda x: f(x, n), (x,), (np.ones_like(x),))
    np.testing.assert_allclose(y, f(x, n), rtol=1e-15)
    expected = [0.0, 1.0, 0.0, *(n[3:] * x[3:] ** (n[3:] - 1.0))]
    np.testing.assert_allclose(slope, expected, rtol=1e-9)
    np.testing.assert_allclose(jax.grad(lambda x: f(x, n).sum())(x), expected, rtol=1e-9)


@pytest.mark.slow
def test_in_float32():
    x, n = np.linspace(0.5, 1.5, 8, dtype="float32"), np.arange(-3, 5)
    found = jax.grad(lambda x: differentiable(powers, lambda x, n: x)(x, n).sum())(x)
    assert found.dtype == "float32"
    np.testing.assert_allclose(found, n * x ** (n - 1.0), rtol=1e-5)


def test_what_raises_raises_in_the_derivative():
    f, x = differentiable(powers, lambda x, n: x), np.array([2.0, 0.0])
    for n, kind in (([1, -1], "ZeroDivisionError"), ([np.iinfo("int64").min, 1], "OverflowError")):
        for call in (f, jax.grad(lambda x, n: f(x, n).sum())):
            with pytest.raises(jax.errors.JaxRuntimeError, match=kind):
                call(x, np.array(n)).block_until_ready()

"""What kernels call of NumPy, and lists of known length, have derivatives, for what is copied, too."""

import jax
import jax.numpy as jnp
import numba
import numpy as np
import pytest
from derivatives import check, differentiable, name, needs_enzyme

pytestmark = needs_enzyme
X = np.array([0.3, -1.2, 2.0, 0.7, -0.4])


@numba.njit
def chosen(x, y):
    y[:] = np.where(x > 0, x * x, 0.0)


@numba.njit
def ordered(x, y):
    y[:] = np.sort(x) ** 2 + x[np.argsort(x)] * np.arange(x.size)


@numba.njit
def spread(x, y):
    y[:] = x.mean() + x.std() * np.median(x)


@numba.njit
def part_of_an_output(x, y):
    y[:] = x
    z = y[:2].copy()
    y[0] = z[1] * z[0]


@numba.njit
def rows(x, y):
    w = np.empty((x.size, x.size))
    for i in range(x.size):
        for j in range(x.size):
            w[i, j] = x[i] * x[j]
    for i in range(1, x.size):
        before = w[i - 1].copy()
        w[i] += before * w[i]
    y[:] = np.ascontiguousarray(w[-1])


@numba.njit
def indices(x, y):
    w = np.arange(x.size)
    z = w[1:4].copy()
    w[:] = 0
    for i in range(x.size):
        y[i] = x[z[0]] * x[z[1]] * z[1] + w[0]


@numba.njit
def in_lists(x, y):
    numbers, arrays = [x[0], x[1]], [x * x, 2 * x]
    y[:] = arrays[0] * arrays[1] + numbers[0] * numbers[1]


KERNELS = [chosen, rows, spread, ordered, part_of_an_output, indices, in_lists]
QUICK = part_of_an_output, in_lists


@pytest.mark.parametrize(
    "kernel", [k if k in QUICK else pytest.param(k, marks=pytest.mark.slow) for k in KERNELS], ids=name
)
def test_derivatives_are_those_of_differences(kernel):
    check(differentiable(kernel, lambda x: x), X)


@numba.njit
def scaled(x, scale, y):
    for i in range(x.size):
        y[i] = x[i] * scale[i]


def test_nothing_times_infinity_is_nothing():
    """An infinite slope adds nothing to a derivative where its weight is 0, or its input does not move."""
    f = differentiable(scaled, lambda x, scale: x)
    for jacobian in jax.jacrev(f), jax.jacfwd(f), jax.jit(jax.jacrev(f)):
        assert jacobian(jnp.ones(2), jnp.array([np.inf, 0.5])).tolist() == [[np.inf, 0.0], [0.0, 0.5]]

"""Derivatives of kernels that read what they wrote, write what they read, and have arrays of their own."""

import ctypes
import math
import os
import resource
from pathlib import Path

import jax
import jax.numpy as jnp
import numba
import numpy as np
import pytest
from derivatives import check, differentiable, name, needs_enzyme, normal

pytestmark = needs_enzyme


@numba.njit
def ahead(x, y):
    y[:] = x
    for i in range(x.size - 1):
        y[i] = y[i + 1] * y[i]


@numba.njit
def behind(x, y):
    y[:] = x
    for i in range(1, x.size):
        y[i] = y[i - 1] * y[i]


@numba.njit
def backwards(x, y):
    y[:] = x
    for i in range(x.size - 2, -1, -1):
        y[i] *= np.sin(y[i + 1])


@numba.njit
def swept(x, y):
    """Gauss and Seidel: each element from a neighbour of this sweep and one of the last."""
    y[:] = x
    for _ in range(3):
        for i in range(1, x.size - 1):
            y[i] = y[i - 1] * y[i + 1] + y[i] ** 2


@numba.njit
def by_remainder(x, y):
    y[:] = x
    for i in range(x.size):
        y[(3 * i) % x.size] *= y[i]


@numba.njit
def by_while(x, y):
    y[:] = x
    i, total = 0, 1.0
    while i < x.size and total < 50.0:
        total += y[i] * y[i]
        y[i] = total
        i += 1 + (x[i] > 0.5)


@numba.njit
def new_arrays_in_a_loop(x, y):
    total = np.zeros(x.size)
    for t in range(4):
        step = np.sin(x) * total + x
        total = total + step * (t + 1.0)
    y[:] = total


@numba.njit
def exchanged(x, y):
    a, b = x.copy(), np.zeros_like(x)
    for _ in range(3):
        for i in range(x.size):
            b[i] = a[i] * a[i - 1]
        a, b = b, a
    y[:] = a


@numba.njit
def slices(x, y):
    y[1:-1] = x[2:] * x[:-2]
    y[0] = x[:3].sum()
    y[-1] = x[::2].sum()
    y[1:3] *= y[:2]


@numba.njit
def expressions(x, y):
    y[:] = np.maximum(x, 0.2) * np.exp(x) + np.sqrt(1.0 + x**2) - x.mean()


@numba.njit
def transposed(x, y):
    table = x.reshape(2, 3).T.copy()
    y[:] = (table * np.array([1.0, 2.0])).ravel()


@numba.njit
def accumulated(x, y):
    y[:] = 0.0
    for i in range(x.size):
        for j in range(i + 1):
            y[j] += x[i] * x[j]


@numba.njit
def overwritten(x, y):
    y[:] = x * x
    y[:] = np.cos(x)


@numba.njit
def partly_overwritten(x, y):
    y[:] = x
    y[0] = y[1] * y[2]
    y[1] = y[0] * y[0]
    y[0] = 3.0


@numba.njit
def sum_of_squares(v):
    total = 0.0
    for x in v:
        total += x * x
    return total


@numba.njit
def views(x, y):
    table = np.zeros((x.size, 2))
    table[:, 1] = x[::-1]
    for i in range(x.size):
        y[i] = sum_of_squares(table[i:, 1]) * table[i, 1]


@numba.njit
def windows(x, y):
    """Each view begins where the one before has its second element."""
    y[:] = x
    for i in range(x.size - 1):
        pair = y[i : i + 2]
        pair[0] = np.sin(pair[1]) * pair[0]


@numba.njit
def of_three_axes(x, y):
    table = np.ones((x.size, 3, 2))
    for i in range(x.size):
        table[i, -1, 0] = x[i]
        table[i, 0] *= x[-i]
        table[i - 1, 1, -1] *= x[i]
    for i in range(x.size):
        y[i] = table[i, 2, 0] * table[i - 1, 0, 1] * table[i][1, 1]


@numba.njit
def outer_product(x, y):
    table = x.reshape(x.size, 1) * x + x[:1]
    for i in range(x.size):
        y[i] = table[i, i - 1] * table[-1, i]


@numba.njit
def flattened(x, y):
    w = x * x
    z = w[1:4].flatten()
    y[:] = z[1] * z[0] + w


QUICK = (ahead, exchanged, windows)
SLOW = (
    of_three_axes,
    outer_product,
    flattened,
    swept,
    partly_overwritten,
    views,
    behind,
    backwards,
    by_remainder,
    by_while,
    new_arrays_in_a_loop,
    slices,
    expressions,
    transposed,
    accumulated,
    overwritten,
)


@pytest.mark.parametrize(
    "kernel", [*QUICK, *(pytest.param(x, marks=pytest.mark.slow) for x in SLOW)], ids=name
)
def test_derivatives(kernel):
    check(differentiable(kernel, lambda x: x), normal(6))


@numba.njit
def down_to(x, limits, y):
    for i in range(x.size):
        y[i] = x[i]
        while y[i] > limits[i]:
            y[i] = np.sin(y[i])


def test_of_turns_that_nobody_counts():
    """Memory of the reverse mode grows as the loop goes on, from none to some megabytes."""
    x, limits = np.array([1.0, 0.9, 1.1, 0.7, 1.2, 0.8]), np.array([2.0, 0.5, 0.1, 0.02, 0.003, 0.05])
    expected = []
    for value, limit in zip(x, limits, strict=True):
        slope = 1.0
        while value > limit:
            slope, value = slope * math.cos(value), math.sin(value)
        expected.append(slope)
    call = jax.jit(jax.grad(lambda x: differentiable(down_to, lambda x, _: x)(x, limits).sum()))
    np.testing.assert_allclose(call(x), expected, rtol=1e-9)


@numba.njit
def raises_among_arrays(x, y):
    total = np.zeros(x.size)
    for _ in range(20):
        total = total + np.sin(x) * total + x
        if total[0] > 1e9:
            raise ValueError("large")
    y[:] = total


DERIVATIVES = {
    "forward": lambda f: lambda x: jax.jvp(f, (x,), (x,))[1],
    "reverse": lambda f: jax.grad(lambda x: f(x).sum()),
    "second": lambda f: lambda x: jax.jvp(jax.grad(lambda x: f(x).sum()), (x,), (x,))[1],
}


@pytest.mark.parametrize(
    "of", ["forward", *(pytest.param(x, marks=pytest.mark.slow) for x in ("reverse", "second"))]
)
def test_memory_does_not_grow(of):
    call = jax.jit(DERIVATIVES[of](differentiable(raises_among_arrays, lambda x: x)))
    good, bad = jnp.full(5000, 0.01), jnp.full(5000, 1e9)

    def calls(count):
        for _ in range(count):
            jax.block_until_ready(call(good))
            with pytest.raises(Exception, match="ValueError: large"):
                jax.block_until_ready(call(bad))
        return resident()

    before = calls(20)
    assert calls(100) - before < 100 * good.nbytes  # less than one array of each call


@pytest.fixture
def memory_is_returned():
    """Let C give memory back to the system at once, as it does in a process that has just compiled."""
    trim_threshold, mmap_threshold = -1, -3
    set_option = ctypes.CDLL(None).mallopt
    set_option(trim_threshold, 0)
    set_option(mmap_threshold, 1 << 16)
    yield
    set_option(trim_threshold, 1 << 26)
    set_option(mmap_threshold, 1 << 25)


@pytest.mark.slow
def test_memory_is_kept_for_the_next_call(memory_is_returned):
    call = jax.jit(DERIVATIVES["reverse"](differentiable(raises_among_arrays, lambda x: x)))
    x = jnp.full(5000, 0.01)  # 20 turns keep more than 40 kB each: at least 200 pages
    for _ in range(5):
        jax.block_until_ready(call(x))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(20):
        jax.block_until_ready(call(x))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before < 20 * 100


def resident():
    """Return how many bytes of memory this process has."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

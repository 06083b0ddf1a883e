"""Floats whose bits pass through integers: copies have their derivatives, and what is computed is refused."""

import jax
import jax.numpy as jnp
import numba
import numpy as np
import pytest
from derivatives import check, differentiable, name, needs_enzyme

from ffi_bridge.errors import MissingRuleError

pytestmark = needs_enzyme
X = np.array([1.25, 2.5])


@numba.njit
def assigned(x, y):
    t = np.empty((x.size, 2), np.int64)
    t[:, 1] = x.view(np.int64)
    y[:] = 2 * t.view(np.float64)[:, 1]


@numba.njit
def twice(x, y):
    t, u = np.empty(x.size, np.int64), np.empty(x.size, np.uint64)
    t[:] = x.view(np.int64)
    u[:] = t.view(np.uint64)
    y[:] = 3 * u.view(np.float64)


@numba.njit
def element_by_element(x, y):
    t, v = np.empty(x.size, np.int64), x.view(np.int64)
    for i in range(x.size):
        t[i] = v[x.size - 1 - i]
    z = t.view(np.float64)
    for i in range(x.size):
        y[i] = z[i] ** 2


@numba.njit
def beside_integers(x, y):
    t = np.empty((x.size, 2), np.int64)
    for i in range(x.size):
        t[i, 0] = i + 2
        t[i, 1] = x.view(np.int64)[i]
    f = t.view(np.float64)
    for i in range(x.size):
        y[i] = t[i, 0] * f[i, 1] ** 2


@numba.njit
def as_bytes(x, y):
    y[:] = 2 * x.view(np.uint8).copy().view(np.float64)


@numba.njit
def from_a_buffer(x, y):
    y[:] = np.sin(np.frombuffer(np.frombuffer(x, np.int64).copy(), np.float64))


@numba.njit
def as_complex(x, y):
    y[:] = 2 * x.view(np.complex128).copy().view(np.float64)


@numba.njit
def into_the_output(x, y):
    y.view(np.int64)[:] = x.view(np.int64)


@numba.njit
def copy_of(v):
    return v.copy()


@numba.njit(parallel=True)
def in_parallel(x, y):
    t, v = np.empty(x.size, np.int64), copy_of(x.view(np.int64))
    for i in numba.prange(x.size):
        t[i] = v[i]
    y[:] = 2 * t.view(np.float64)


@numba.njit
def by_their_signs(x, y):
    v = x.view(np.int64)
    for i in range(x.size):
        y[i] = 2 * x[i] if v[i] > 0 else -x[i]


@numba.njit
def by_conversion(x, y):
    """Numbers of integers are constant where they do not jump."""
    order = np.argsort(x)
    for i in range(x.size):
        whole = np.int64(x[i]) + np.float64(bool(x[i])) + np.float64(order[i])
        y[i] = x[order[i]] * whole if not np.isnan(x[i]) else 0.0


@numba.njit
def of_lists_and_tuples(x, y):
    numbers, counts, both = [x[0], x[1]], [1, 2], (x[0], 3)
    for i in range(x.size):
        y[i] = numbers[i] ** 2 * len(numbers) * counts[i] * both[0] * both[1]


COPIES = [
    twice,
    element_by_element,
    beside_integers,
    as_bytes,
    from_a_buffer,
    as_complex,
    into_the_output,
    in_parallel,
    by_their_signs,
    by_conversion,
    of_lists_and_tuples,
]


@pytest.mark.parametrize(
    "kernel", [assigned, *[pytest.param(x, marks=pytest.mark.slow) for x in COPIES]], ids=name
)
def test_copies_have_their_derivatives(kernel):
    check(differentiable(kernel, lambda x: x), X)


@pytest.mark.slow
def test_copies_of_32_bits():
    @numba.njit
    def kernel(x, y):
        t = np.empty(x.size, np.int32)
        t[:] = x.view(np.int32)
        y[:] = 2 * t.view(np.float32)

    f = differentiable(kernel, lambda x: x)
    x = jnp.asarray(X, jnp.float32)
    assert jax.jacrev(f)(x).tolist() == jax.jacfwd(f)(x).tolist() == [[2, 0], [0, 2]]


@numba.njit
def root(x, y):
    """The inverse of a square root, as games had it."""
    v = x.copy()
    i = v.view(np.int64)
    for j in range(x.size):
        i[j] = 0x5FE6EB50C7B537A9 - (i[j] >> 1)
    for j in range(x.size):
        y[j] = v[j] * (1.5 - 0.5 * x[j] * v[j] * v[j])


@numba.njit
def logarithm(x, y):
    v = x.view(np.int64)
    for j in range(x.size):
        y[j] = v[j] * 2.0**-52


@numba.njit
def magnitude(x, y):
    v, w = x.view(np.uint64), y.view(np.uint64)
    for i in range(x.size):
        w[i] = v[i] & np.uint64(0x7FFFFFFFFFFFFFFF)


@numba.njit
def in_halves(x, y):
    v, w = x.view(np.int32), y.view(np.int32)
    for i in range(v.size):
        w[i] = v[i]


@numba.njit
def as_smaller_floats(x, y):
    y[:] = 2 * x.view(np.float32).copy().view(np.float64)


COMPUTED = [logarithm, magnitude, in_halves, as_smaller_floats]


@pytest.mark.parametrize(
    "kernel", [root, *[pytest.param(x, marks=pytest.mark.slow) for x in COMPUTED]], ids=name
)
def test_what_is_computed_from_bits_is_refused(kernel):
    f = differentiable(kernel, lambda x: x)
    assert jnp.isfinite(f(X)).all()
    for derivative in jax.jacfwd(f), jax.jacrev(f):
        with pytest.raises(
            MissingRuleError, match=f"kernel '{kernel.__name__}'.*`.*view.*the bits of floating-point numbers"
        ):
            derivative(X)

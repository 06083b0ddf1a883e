"""Derivatives for every kind of argument, of output, and of option that a kernel has."""

import math

import jax
import jax.numpy as jnp
import numba
import numpy as np
import pytest
from derivatives import check, differentiable, needs_enzyme, normal, struct
from jax.dtypes import float0

pytestmark = needs_enzyme


@numba.njit
def power(x, exponents, doubled, y):
    for i in range(x.size):
        y[i] = x[i] ** exponents[i] * (2.0 if doubled[()] else 1.0)


@pytest.mark.parametrize(
    "dtype", ["int32", *(pytest.param(x, marks=pytest.mark.slow) for x in ("int8", "uint64"))]
)
def test_integers_and_bools_have_no_derivatives(dtype):
    f = differentiable(power, lambda x, *_: x)
    exponents = jnp.array([0, 1, 2, 3], dtype)
    check(lambda x: f(x, exponents, True), normal(4))
    found = jax.grad(lambda *args: f(*args).sum(), (0, 1, 2), allow_int=True)(normal(4), exponents, True)
    assert [x.dtype for x in found] == ["float64", float0, float0]


def test_negative_exponents():
    f = differentiable(power, lambda x, *_: x)
    check(lambda x: f(x, jnp.array([-1, -2, 3, 0]), False), normal(4))


@numba.njit
def several(x, count, y, narrow, positive):
    for i in range(x.size):
        count[i] = np.int32(3 * x[i])
        y[i] = x[i] * x[i]
        narrow[i] = 3.0 * x[i]
        positive[i] = x[i] > 0


def test_outputs_of_several_dtypes():
    floats = {"y": struct(4), "z": struct(4, dtype="float32")}
    f = differentiable(several, (struct(4, dtype="int32"), floats, struct(4, dtype="bool")))
    x = normal(4)
    (count, parts, positive), dots = jax.jvp(f, (x,), (np.ones(4),))
    np.testing.assert_array_equal(count, (3 * x).astype("int32"))
    np.testing.assert_array_equal(positive, x > 0)
    np.testing.assert_allclose(parts["y"], x**2)
    assert dots[0].dtype == dots[2].dtype == float0
    np.testing.assert_allclose(dots[1]["y"], 2 * x)
    np.testing.assert_allclose(dots[1]["z"], np.full(4, 3.0, "float32"))
    found = jax.grad(lambda x: f(x)[1]["y"].sum() + f(x)[1]["z"].astype(float).sum())(x)
    np.testing.assert_allclose(found, 2 * x + 3)


@numba.njit
def scaled(x, a, kind, y):
    if kind == "sine":
        y[:] = np.sin(x) * a
    else:
        y[:] = x**2 * a


def test_numbers_and_constants():
    f = differentiable(scaled, lambda x, a, **_: x, scalar_argnames="a", static_argnames="kind")
    x, a = normal(4), 1.5
    for kind in "sine", "square", "sine":
        found = jax.grad(lambda x, a, kind=kind: f(x, a, kind=kind).sum(), (0, 1))(x, a)
        wanted = (np.cos(x) * a, np.sin(x).sum()) if kind == "sine" else (2 * x * a, (x**2).sum())
        for got, expected in zip(found, wanted, strict=True):
            np.testing.assert_allclose(got, expected)
    # Without jit a number that has no derivative arrives as Python's.
    np.testing.assert_allclose(jax.grad(lambda x: f(x, 1.5, kind="square").sum())(x), 3 * x)


@numba.njit
def times(x, flag, y):
    y[:] = x * (flag + 1) if flag is True else x * 10


def test_constants_that_are_equal_and_differ():
    f = differentiable(times, lambda x, **_: x, static_argnames="flag")
    slopes = [jax.grad(lambda x, flag=flag: f(x, flag=flag).sum())(np.ones(1)) for flag in (True, 1)]
    np.testing.assert_array_equal(np.ravel(slopes), [2, 10])


@numba.njit
def in_place(x, b, y):
    for i in range(1, y.size):
        y[i] = y[i] * y[i - 1] + b[i]


@pytest.mark.parametrize("aliases", [{}, {0: 0}], ids=["apart", "aliased"])
def test_an_input_that_is_updated_in_place(aliases):
    kernel = in_place if aliases else apart
    f = differentiable(kernel, lambda x, b: x, input_output_aliases=aliases)
    check(f, normal(4), normal(4, seed=1), order=2)


@numba.njit
def apart(x, b, y):
    y[:] = x
    for i in range(1, y.size):
        y[i] = y[i] * y[i - 1] + b[i]


@numba.njit
def square(x, y):
    for i in np.ndindex(x.shape):
        y[i] = x[i] ** 2


SQUARE = differentiable(square, lambda x: x)


@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 0), (2, 3)], ids=str)
def test_shapes(shape):
    x = normal(*shape)
    np.testing.assert_allclose(jax.grad(lambda x: SQUARE(x).sum())(x), 2 * x)
    np.testing.assert_allclose(jax.jvp(SQUARE, (x,), (x,))[1], 2 * x * x)


def test_numbers_of_32_bits():
    x = normal(3).astype("float32")
    gradient, hessian = (f(lambda x: SQUARE(x).sum())(x) for f in (jax.grad, jax.hessian))
    assert gradient.dtype == hessian.dtype == "float32"
    np.testing.assert_array_equal(gradient, 2 * x)
    np.testing.assert_array_equal(hessian, 2 * np.eye(3))


@numba.njit
def decayed(x, y):
    for i in range(x.size):
        y[i] = np.float32(0.999) * x[i] + np.float32(0.1) * x[i] * x[i]


def test_constants_of_32_bits():
    f, x = differentiable(decayed, lambda x: x), np.full(2, 0.5, "float32")
    np.testing.assert_allclose(jax.grad(lambda x: f(x).sum())(x), np.full(2, 1.099, "float32"), rtol=1e-6)


@numba.njit
def totals(x, per_row, total):
    total[()] = 0
    for i in range(x.shape[0]):
        per_row[i] = x[i].sum() ** 2
        total[()] += per_row[i]


def test_outs_of_shapes():
    f = differentiable(totals, lambda x: {"rows": struct(x.shape[0]), "total": struct()})
    for rows in 2, 3:  # one derivative serves all extents
        x = normal(rows, 2)
        found = jax.grad(lambda x: f(x)["total"] + f(x)["rows"][0])(x)
        wanted = jax.grad(lambda x: (x.sum(1) ** 2).sum() + x[0].sum() ** 2)(x)
        np.testing.assert_allclose(found, wanted)


FACTOR = 2.0


@numba.njit
def by_global(v):
    return v * FACTOR


def test_a_global_that_changes(monkeypatch):
    helper = numba.njit(by_global.py_func)

    @numba.njit
    def kernel(x, y):
        for i in range(x.size):
            y[i] = helper(x[i])

    for factor in 2.0, 5.0:
        monkeypatch.setitem(globals(), "FACTOR", factor)
        f = differentiable(kernel, lambda x: x)
        np.testing.assert_array_equal(jax.grad(lambda x, f=f: f(x).sum())(np.ones(2)), factor)


@numba.njit
def branches(x, y):
    for i in range(x.size):
        v = x[i]
        y[i] = min(v, 0.2) * max(v * v, v) + abs(v) + math.copysign(v, 2.0) + np.cbrt(v)
        if v > 0.3:
            y[i] += v**-2
        elif v < -0.3:
            y[i] += v**4 % 0.7


@numba.njit
def functions(x, y):
    for i in range(x.size):
        v = x[i]
        y[i] = math.erf(v) + math.hypot(v, 1.0) + math.expm1(v) + math.log1p(v * v) + math.atan2(v, 2.0)
        y[i] += np.tanh(v) + np.arctan(v) + np.arcsinh(v) + 2.0**v + abs(v) ** 1.7 + np.log2(1.0 + v * v)


@numba.njit(parallel=True)
def in_parallel(x, y):
    total = 0.0
    for i in numba.prange(x.size):
        total += x[i] ** 2
    for i in numba.prange(x.size):
        y[i] = total * x[i]


@numba.njit(fastmath=True)
def fast(x, y):
    total = 0.0
    for i in range(x.size):
        total += np.exp(x[i])
    y[:] = total * x


@numba.njit(error_model="numpy")
def unchecked(x, y):
    for i in range(x.size):
        y[i] = 1.0 / x[i]


@numba.njit
def complex_within(x, y):
    z = x[0] + 1j * x[1]
    for i in range(x.size):
        y[i] = abs(z) ** 2 * x[i]


SLOW = (functions, fast, unchecked, complex_within)


@pytest.mark.parametrize(
    "kernel", [branches, in_parallel, *(pytest.param(x, marks=pytest.mark.slow) for x in SLOW)]
)
def test_what_a_kernel_computes_with(kernel):
    check(differentiable(kernel, lambda x: x), normal(6))

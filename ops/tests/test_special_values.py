"""Kernels at 0, infinity, NaN, the ends of the range and the thresholds of overflow, against more digits."""

import jax
import jax.numpy as jnp
import numba
import numpy as np
import pytest
import scipy.special

from event_ops import neuron_step, plasticity
from event_ops.codegen.primitives import LACKED_BY_WARP, OF_FLOATS
from event_ops.kernels.numba_cpu.arithmetic import over

lax = jax.lax
UNITS = 6  # in the last place

# name -> the function in JAX, and in NumPy, which gets longdouble.
UNARY = {
    "abs": (jnp.abs, np.abs),
    "acos": (jnp.arccos, np.arccos),
    "acosh": (jnp.arccosh, np.arccosh),
    "asin": (jnp.arcsin, np.arcsin),
    "asinh": (jnp.arcsinh, np.arcsinh),
    "atan": (jnp.arctan, np.arctan),
    "atanh": (jnp.arctanh, np.arctanh),
    "cbrt": (jnp.cbrt, np.cbrt),
    "ceil": (jnp.ceil, np.ceil),
    "cosh": (jnp.cosh, np.cosh),
    "erf": (jax.scipy.special.erf, lambda x: scipy.special.erf(x.astype(float))),
    "erfc": (jax.scipy.special.erfc, lambda x: scipy.special.erfc(x.astype(float))),
    "exp": (jnp.exp, np.exp),
    "exp2": (jnp.exp2, np.exp2),
    "expm1": (jnp.expm1, np.expm1),
    "floor": (jnp.floor, np.floor),
    "integer_pow": (lambda x: x**3, lambda x: x**3),
    "integer_pow of -2": (lambda x: x**-2, lambda x: 1 / (x * x)),
    "is_finite": (lambda x: jnp.where(jnp.isfinite(x), x, 7), lambda x: np.where(np.isfinite(x), x, 7)),
    "log": (jnp.log, np.log),
    "log1p": (jnp.log1p, np.log1p),
    "logistic": (jax.nn.sigmoid, lambda x: 1 / (1 + np.exp(-x))),
    "neg": (lambda x: -x, lambda x: -x),
    "pow of a number": (lambda x: x**1.5, lambda x: x**1.5),
    "round": (jnp.round, np.rint),
    "rsqrt": (lax.rsqrt, lambda x: 1 / np.sqrt(x)),
    "sign": (jnp.sign, lambda x: np.where(x == 0, x, np.sign(x))),
    "sinh": (jnp.sinh, np.sinh),
    "sqrt": (jnp.sqrt, np.sqrt),
    "square": (lax.square, np.square),
    "tanh": (jnp.tanh, np.tanh),
    # What is made of them: inverses of roots, rates of gates, quotients by numbers.
    "1 / sqrt": (lambda x: 1 / jnp.sqrt(x), lambda x: 1 / np.sqrt(x)),
    "1 / x": (lambda x: 1 / x, lambda x: 1 / x),
    "sqrt / x": (lambda x: jnp.sqrt(x) / x, lambda x: np.sqrt(x) / x),
    "x / 3": (lambda x: x / 3, lambda x: x / 3),
}
BINARY = {
    "add": (jnp.add, np.add),
    "atan2": (jnp.arctan2, np.arctan2),
    "clamp": (lambda x, y: lax.clamp(y, x, y + 1), lambda x, y: np.minimum(np.maximum(x, y), y + 1)),
    "div": (jnp.divide, np.divide),
    "max": (lax.max, np.maximum),
    "min": (lax.min, np.minimum),
    "mul": (jnp.multiply, np.multiply),
    "pow": (jnp.power, np.power),
    "rem": (lax.rem, np.fmod),
    "select_n": (lambda x, y: jnp.where(x > y, x, y), lambda x, y: np.where(x > y, x, y)),
    "sub": (jnp.subtract, np.subtract),
}
OF_EITHER_ZERO = {"clamp", "max", "min"}  # the sign of a zero is that of one operand or the other
PERIODIC = {"cos", "sin", "tan"}  # whose last digits at 1e30 are each library's own
VECTORISED = {
    "abs", "ceil", "exp", "expm1", "floor", "integer_pow", "integer_pow of -2", "is_finite", "logistic",
    "neg", "round", "rsqrt", "sign", "sqrt", "square", "tanh", "1 / sqrt", "1 / x", "sqrt / x", "x / 3",
    "add", "clamp", "div", "max", "min", "mul", "select_n", "sub",
}  # fmt: skip


def values(dtype):
    """Return numbers at which functions have edges, of both signs."""
    info = np.finfo(dtype)
    top, bottom = (float(np.log(x.astype(np.longdouble))) for x in (info.max, info.tiny))
    near = np.array([top, -bottom, top / 2, info.maxexp, -info.minexp], dtype)
    steps = [
        np.nextafter(near, dtype(0)),
        np.nextafter(near, dtype(np.inf)),
        near * dtype(0.999),
        near - dtype(0.3),
    ]
    plain = [
        0,
        0.34657,
        0.5,
        1,
        1.5,
        2,
        2.5,
        3,
        17,
        20,
        80,
        1e10,
        1e30,
        1e-3,
        info.eps,
        info.eps / 4,
        1 / info.max,
    ]
    ends = [
        info.tiny,
        2 * info.tiny,
        info.max,
        info.max / 3,
        np.inf,
        np.nan,
        info.smallest_subnormal,
        info.tiny / 4,
    ]
    positive = np.concatenate([near, *steps, plain, ends]).astype(dtype)
    return np.concatenate([positive, -positive])


def pairs(dtype):
    """Return pairs of fewer of them."""
    info = np.finfo(dtype)
    some = np.array([0, 0.5, 1, 2, 3, 1e-3, 80, 1e30, info.tiny, info.max, np.inf, np.nan], dtype)
    some = np.concatenate([some, -some])
    return tuple(x.ravel() for x in np.meshgrid(some, some))


def flushed(x):
    """Return x as processors read it that take what is below the normal numbers for 0."""
    return np.where(np.abs(x) < np.finfo(x.dtype).tiny, np.copysign(x.dtype.type(0), x), x)


def assert_agrees(name, found, exact, *given):
    """Compare with the exact values of what is given, or of that with numbers below the normal ones as 0."""
    dtype, info = found.dtype, np.finfo(found.dtype)
    right = np.zeros(found.shape, bool)
    with np.errstate(all="ignore"):
        for read in (given, [flushed(x) for x in given]):
            wanted = np.asarray(exact(*(x.astype(np.longdouble) for x in read)), np.longdouble)
            rounded = wanted.astype(dtype)
            error = np.abs(found - wanted) <= UNITS * info.eps * np.abs(wanted)
            error |= (np.abs(wanted) < info.tiny) & (np.abs(found) <= info.tiny)
            signed = (np.signbit(found) == np.signbit(rounded)) | (name in OF_EITHER_ZERO)
            same = (found == rounded) & signed | (rounded != 0) & error
            right |= same | np.isnan(found) & np.isnan(rounded)
    wrong = [(*(float(x[i]) for x in given), float(found[i])) for i in np.flatnonzero(~right)]
    assert not wrong, f"{name}: given and found are {wrong[:9]}"


def computed(functions, backend, *given):
    """Return what each function makes of what is given, in one kernel, in which `which` says the function."""

    def each(V, *, x=None, which):
        result = jnp.zeros_like(V)
        for k, function in enumerate(functions):
            result = jnp.where(which == k, function(V) if x is None else function(V, x), result)
        return result

    V, *more = (np.tile(x, len(functions)) for x in given)
    which = np.repeat(np.arange(len(functions)), given[0].size).astype(V.dtype)
    step = neuron_step(each, threshold=lambda V: V)
    after, _ = step(V, which=which, backend=backend, **dict(zip(["x"], more, strict=False)))
    return np.asarray(after).reshape(len(functions), -1)


def check(table, names, backend, *given):
    """Compare every second function, then the others: NVIDIA's compiler fails at acos beside acosh."""
    names = [x for x in table if x in names and not (backend == "warp" and x.split()[0] in LACKED_BY_WARP)]
    for some in (names[::2], names[1::2]):
        for name, found in zip(some, computed([table[x][0] for x in some], backend, *given), strict=True):
            assert_agrees(name, found, table[name][1], *given)


def test_all_functions_of_floats_are_here():
    assert OF_FLOATS.keys() <= {*UNARY, *BINARY, *PERIODIC} and {*UNARY, *BINARY} >= VECTORISED


@pytest.mark.parametrize("backend", ["numba_cpu", "numba_cuda", "warp"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("vectorised", [True, False])
def test_a_neuron_model_is_right_at_the_edges(backend, dtype, vectorised, request):
    if backend == "numba_cuda":
        request.getfixturevalue("on_gpu")
    if backend == "warp":
        pytest.importorskip("warp", reason="warp-lang is not installed")
    real = np.dtype(dtype).type
    with jax.enable_x64(dtype == "float64"):
        for table, given in ((UNARY, [values(real)]), (BINARY, pairs(real))):
            check(table, VECTORISED if vectorised else {*table} - VECTORISED, backend, *given)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_rule_is_right_at_the_edges(dtype):
    """The functions that rules have in another form than neurons, of weights that are the values."""
    real = np.dtype(dtype).type
    (x, y), names = pairs(real), ["exp", "expm1", "logistic", "sign", "tanh", "rsqrt"]
    with jax.enable_x64(dtype == "float64"):
        w = values(real)

        def rule(*ws):
            return tuple(UNARY[name][0](w) for w, name in zip(ws, names, strict=True))

        def apply(rule, w, **variables):
            return plasticity.on_pre(rule, w, spikes_pre=np.ones(1, bool), backend="numba_cpu", **variables)

        changed = apply(rule, (w[None],) * len(names))
        power = apply(lambda w, *, y: w**y, x[None], y=y[None])
    for name, found in zip(names, changed, strict=True):
        assert_agrees(name, np.asarray(found)[0], UNARY[name][1], w)
    assert_agrees("pow", np.asarray(power)[0], np.power, x, y)


@numba.njit
def fill(x, c, y):
    for i in range(x.size):
        y[i] = over(x[i], c)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_quotient_by_one_number_is_right_at_the_edges(dtype):
    x = values(np.dtype(dtype).type)
    for c in x:
        y = np.empty_like(x)
        fill(x, c, y)
        with np.errstate(all="ignore"):
            exact = x.astype(np.longdouble) / c
        if np.abs(c) >= np.finfo(dtype).tiny:
            assert_agrees(f"x / {c}", y, lambda x, exact=exact: exact, x)

"""Every primitive that a rule may use gives in a kernel what JAX gives, and others are refused by name."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from event_ops import plasticity
from event_ops.codegen import primitives
from event_ops.codegen.function import ALL, Traced
from event_ops.plasticity.apply_rule import _SUBJECT
from ffi_bridge.errors import BackendUnavailableError

INDPTR = np.array([0, 16, 18], np.int32)
INDICES, SPIKES = np.zeros(18, np.int32), np.array([True, False])
HARD = np.array(
    [0, -0.0, 1, -1, np.nan, np.inf, -np.inf, -2.5, 0.5, 2.5, -0.3, 0.9, 80, -80, 1e-30, 3, 4, 5], "f"
)
EASY = np.array([0.5, 0.25, -1, 2, 1, -3, 0.75, 0, np.nan, 2, 3, -0.4, 0.1, 7, 2, -1, 6, 7], "f")
one = jax.lax

# A rule of two numbers for each primitive.
RULES = {
    "abs": lambda w, x: abs(w),
    "acos": lambda w, x: jnp.arccos(w),
    "acosh": lambda w, x: jnp.arccosh(w),
    "add": lambda w, x: w + x,
    "add_any": lambda w, x: jax.grad(lambda w: w * x + w * w)(w),  # of derivatives
    "and": lambda w, x: jnp.where((w > 0) & (x > 0), w, x),
    "asin": lambda w, x: jnp.arcsin(w),
    "asinh": lambda w, x: jnp.arcsinh(w),
    "atan": lambda w, x: jnp.arctan(w),
    "atan2": jnp.arctan2,
    "atanh": lambda w, x: jnp.arctanh(w),
    "bitcast_convert_type": lambda w, x: jnp.copysign(x, w),
    "cbrt": lambda w, x: jnp.cbrt(w),
    "ceil": lambda w, x: jnp.ceil(w),
    "clamp": lambda w, x: one.clamp(x, w, x + 1),
    "convert_element_type": lambda w, x: w.astype(bool).astype(w.dtype),
    "copy": lambda w, x: jnp.array(x, copy=True),
    "cos": lambda w, x: jnp.cos(w),
    "cosh": lambda w, x: jnp.cosh(w),
    "div": lambda w, x: x / w,
    "eq": lambda w, x: jnp.where(w == x, 3, x),
    "erf": lambda w, x: jax.scipy.special.erf(w),
    "erfc": lambda w, x: jax.scipy.special.erfc(w),
    "exp": lambda w, x: jnp.exp(w),
    "exp2": lambda w, x: jnp.exp2(w),
    "expm1": lambda w, x: jnp.expm1(w),
    "floor": lambda w, x: jnp.floor(w),
    "ge": lambda w, x: jnp.where(w >= x, w, -x),
    "gt": lambda w, x: jnp.where(w > x, w, -x),
    "integer_pow": lambda w, x: w**3 + x**-2 + x**0,
    "is_finite": lambda w, x: jnp.where(jnp.isfinite(w), w, -x),
    "le": lambda w, x: jnp.where(w <= x, w, -x),
    "log": lambda w, x: jnp.log(w),
    "log1p": lambda w, x: jnp.log1p(w),
    "logistic": lambda w, x: jax.nn.sigmoid(w),
    "lt": lambda w, x: jnp.where(w < x, w, -x),
    "max": jnp.maximum,
    "min": jnp.minimum,
    "mul": lambda w, x: w * x,
    "ne": lambda w, x: jnp.where(w != x, 3, x),
    "neg": lambda w, x: -w,
    "not": lambda w, x: jnp.where(~(w > 0), w, x),
    "or": lambda w, x: jnp.where((w > 0) | (x > 0), w, x),
    "pow": lambda w, x: w**x,
    "rem": one.rem,
    "round": lambda w, x: jnp.round(w) + one.round(x),
    "rsqrt": lambda w, x: one.rsqrt(w),
    "select_n": lambda w, x: one.select(w > 0, w, x),
    "shift_right_arithmetic": lambda w, x: jnp.where(jnp.signbit(w), w, x),
    "sign": lambda w, x: jnp.sign(w),
    "sin": lambda w, x: jnp.sin(w),
    "sinh": lambda w, x: jnp.sinh(w),
    "sqrt": lambda w, x: jnp.sqrt(w),
    "square": lambda w, x: one.square(w),
    "stop_gradient": lambda w, x: one.stop_gradient(w) + x,
    "sub": lambda w, x: w - x,
    "tan": lambda w, x: jnp.tan(w),
    "tanh": lambda w, x: jnp.tanh(w),
    "xor": lambda w, x: jnp.where((w > 0) ^ (x > 0), w, x),
}


# Integers wrap around.
LARGE = jnp.iinfo(jnp.int32).max


def picked(w):
    return jnp.where(w > 0, LARGE, -5)


def divisor(x):
    return jnp.where(x > 1, 3, jnp.where(x > 0, -3, jnp.where(x > -1, 0, -1)))


INTEGERS = {
    "add": lambda w, x: picked(w) + 7,
    "sub": lambda w, x: picked(w) - LARGE,
    "mul": lambda w, x: picked(w) * 3,
    "neg, abs": lambda w, x: -abs(picked(w)),
    "max": lambda w, x: jnp.maximum(picked(w), picked(x)),
    "and, or, xor": lambda w, x: (picked(w) & 12 | 3) ^ 9,
    "uint //, %": lambda w, x: (
        picked(w).astype(jnp.uint32) // divisor(x).astype(jnp.uint32)
        + picked(w).astype(jnp.uint32) % divisor(x).astype(jnp.uint32)
    ),
    "least //": lambda w, x: one.div(picked(w) + jnp.where(w > 0, 1, 0), divisor(x)),
    ">>": lambda w, x: picked(w) >> (divisor(x) * 7),
    "//, %": lambda w, x: picked(w) // divisor(x) + (picked(w) % divisor(x)) * 100,
    "div, rem": lambda w, x: one.div(picked(w), divisor(x)) + one.rem(picked(w), divisor(x)) * 100,
    "sign, square": lambda w, x: jnp.sign(picked(w)) + one.square(picked(w)),
    "lt": lambda w, x: jnp.where(picked(w) < picked(x), 1, 2),
    "uint": lambda w, x: picked(w).astype(jnp.uint32) - jnp.uint32(LARGE),
}


def on_pre(rule, *ws, backend, **variables):
    structure = INDICES, INDPTR, SPIKES
    return plasticity.on_pre(rule, ws, *structure, shape=(2, 1), backend=backend, **variables)


def test_every_primitive_has_a_rule_that_uses_it():
    assert RULES.keys() == primitives.EXPRESSIONS.keys()
    for name, rule in RULES.items():
        assert name in str(jax.make_jaxpr(rule)(1.5, 2.5))


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("backend", ["numba_cpu", "numba_cuda", "warp"])
def test_a_kernel_computes_what_jax_does(dtype, backend, request):
    if backend == "numba_cuda":
        request.getfixturevalue("on_gpu")
    if backend == "warp":
        pytest.importorskip("warp", reason="warp-lang is not installed")
    lacked = primitives.LACKED_BY_WARP if backend == "warp" else ()
    integers = {f"integers, {name}": rule for name, rule in INTEGERS.items()}
    rules = {name: rule for name, rule in (RULES | integers).items() if name not in lacked}

    def every(*ws, x):
        values = [rule(w, x) for w, rule in zip(ws, rules.values(), strict=True)]
        return tuple(jnp.asarray(value, dtype) for value in values)

    with jax.enable_x64(dtype == "float64"):
        ws, x = [HARD.astype(dtype)] * len(rules), EASY.astype(dtype)
        expected, found = (on_pre(every, *ws, x=x, backend=b) for b in ("reference", backend))
    for name, jax_value, value, w in zip(rules, expected, found, ws, strict=True):
        tolerance = {"float32": 3e-6, "float64": 1e-14}[dtype]
        np.testing.assert_allclose(value, jax_value, rtol=tolerance, atol=1e-30, err_msg=name)
        np.testing.assert_array_equal(value[16:], w[16:])  # of the silent neuron


def test_warp_refuses_what_it_lacks_by_name():
    pytest.importorskip("warp", reason="warp-lang is not installed")
    for name in primitives.LACKED_BY_WARP:
        with pytest.raises(BackendUnavailableError, match=f"warp has no primitive={name}"):
            on_pre(lambda w, x, f=RULES[name]: f(w, x), HARD, x=1.0, backend="warp")


def test_what_is_computed_twice_or_chosen_from_equals_is_computed_once():
    def rule(w, x):
        return jnp.exp(w) + jnp.where(x > 0, one.stop_gradient(jnp.exp(w)), jnp.exp(w))

    program = Traced.of(rule, [np.dtype("f")] * 2, ["x"], [ALL] * 2, _SUBJECT).program
    assert [x.primitive for x in program.operations if x.primitive != "gt"] == ["exp", "add"]
    assert program.has_own_derivatives

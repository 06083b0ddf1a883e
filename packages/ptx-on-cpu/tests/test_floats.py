"""Arithmetic of floats in LLVM's text against exact rational arithmetic, rounded once."""

import math

import ml_dtypes
import numpy as np
import pytest
from exact_floats import MODES, RANGES, STORED, assert_same, bits, every, operands, result, run

from ptx_on_cpu.translate import floats


@pytest.fixture(autouse=True)
def numpy_is_silent():
    """NaN of all kinds are converted and compared here."""
    with np.errstate(all="ignore"):
        yield


COUNTS = {"add": 2, "sub": 2, "mul": 2, "fma": 3, "div": 2, "rcp": 1, "sqrt": 1}
CASES = [
    *((how, kind, mode) for kind in ("f32", "f64") for how in COUNTS for mode in MODES),
    *((how, kind, "rn") for kind in ("f16", "bf16") for how in ("add", "sub", "mul", "fma")),
]


@pytest.mark.parametrize(("how", "kind", "mode"), CASES, ids=map(".".join, CASES))
def test_arithmetic_rounds_the_exact_result_once(how, kind, mode):
    values = operands(kind, COUNTS[how], 800)
    found = run(
        lambda text, v: floats.arithmetic(text, how, kind, (mode, kind), v),
        [kind] * len(values),
        kind,
        *values,
    )
    wanted = [result(how, kind, mode, each) for each in zip(*values, strict=True)]
    assert_same(found, wanted, kind, *values)


@pytest.mark.parametrize("sign", [1, -1])
def test_a_term_far_below_the_digits_of_a_double_decides_a_tie(sign):
    a, b, c = (np.array([x]).astype(STORED["bf16"]) for x in (1 + 2.0**-7, 1.5, sign * 2.0**-100))
    found = run(
        lambda text, v: floats.arithmetic(text, "fma", "bf16", ("rn",), v), ["bf16"] * 3, "bf16", a, b, c
    )
    assert float(found.view(ml_dtypes.bfloat16)[0]) == 1.5 + (1 if sign < 0 else 2) * 2.0**-7


EXTREMES = [(), ("NaN",), ("xorsign", "abs"), ("NaN", "xorsign", "abs"), ("ftz",)]


@pytest.mark.parametrize(
    ("kind", "parts"),
    [("f64", ()), *((kind, parts) for kind in ("f16", "bf16", "f32") for parts in EXTREMES)],
)
@pytest.mark.parametrize("how", ["min", "max"])
def test_the_lesser_and_the_greater_know_nan_and_the_sign_of_zero(kind, how, parts):
    a, b = operands(kind, 2)
    found = run(lambda text, v: floats.arithmetic(text, how, kind, (*parts, kind), v), [kind] * 2, kind, a, b)
    least = 2.0 ** RANGES[kind][1]
    wanted = []
    for x, y in zip(a.astype("f8"), b.astype("f8"), strict=True):
        if "ftz" in parts:
            x, y = (math.copysign(0, v) if abs(v) < least else v for v in (x, y))
        sign = math.copysign(1, x) * math.copysign(1, y)
        if "abs" in parts:
            x, y = abs(x), abs(y)
        numbers = [v for v in (x, y) if not math.isnan(v)]
        if not numbers or ("NaN" in parts and len(numbers) < 2):
            wanted.append(math.nan)
            continue
        value = (min if how == "min" else max)(numbers, key=lambda v: (v, math.copysign(1, v)))
        wanted.append(math.copysign(value, sign) if "xorsign" in parts else value)
    assert_same(found, wanted, kind, a, b)


@pytest.mark.parametrize("kind", ["f16", "bf16", "f32"])
def test_subnormal_operands_and_results_are_flushed(kind):
    a, b = operands(kind, 2, 500)
    least = 2.0 ** RANGES[kind][1]

    def zero(v):
        return math.copysign(0.0, v) if abs(v) < least else v

    found = run(
        lambda text, v: floats.arithmetic(text, "mul", kind, ("rn", "ftz", kind), v), [kind] * 2, kind, a, b
    )
    wanted = [
        zero(result("mul", kind, "rn", (zero(float(x)), zero(float(y))))) for x, y in zip(a, b, strict=True)
    ]
    assert_same(found, wanted, kind, a, b)


@pytest.mark.parametrize("kind", ["f16", "f32"])
def test_saturated_results_lie_between_zero_and_one_and_nan_is_zero(kind):
    a, b = operands(kind, 2, 500)
    found = run(
        lambda text, v: floats.arithmetic(text, "add", kind, ("sat", kind), v), [kind] * 2, kind, a, b
    )
    exact = np.array([result("add", kind, "rn", each) for each in zip(a, b, strict=True)])
    wanted = np.where(exact > 0, np.minimum(exact, 1), 0.0)
    assert_same(found, wanted, kind, a, b)


@pytest.mark.parametrize("kind", ["f16", "bf16"])
def test_rectified_results_are_not_negative_and_nan_stays(kind):
    values = operands(kind, 3, 500)
    found = run(
        lambda text, v: floats.arithmetic(text, "fma", kind, ("rn", "relu", kind), v),
        [kind] * 3,
        kind,
        *values,
    )
    exact = np.array([result("fma", kind, "rn", each) for each in zip(*values, strict=True)])
    assert_same(found, np.where(exact <= 0, 0.0, exact), kind, *values)


@pytest.mark.parametrize("kind", ["f16", "bf16"])
def test_pairs_are_two_numbers(kind):
    a, b = operands(kind, 2, 500)
    pairs = [bits(x).astype("u4") | bits(np.roll(x, 1)).astype("u4") << 16 for x in (a, b)]
    single = run(lambda text, v: floats.arithmetic(text, "add", kind, (kind,), v), [kind] * 2, kind, a, b)
    found = run(
        lambda text, v: floats.arithmetic(text, "add", f"{kind}x2", (f"{kind}x2",), v),
        [f"{kind}x2"] * 2,
        f"{kind}x2",
        *pairs,
    )
    assert np.array_equal(found & 0xFFFF, single) and np.array_equal(found >> 16, np.roll(single, 1))
    for half, shift in ((0, 0), (1, 1)):
        less = run(
            lambda text, v: floats.compared_half(text, "lt", ("lt", f"{kind}x2"), *v, half),  # noqa: B023
            [f"{kind}x2"] * 2,
            "pred",
            *pairs,
        )
        assert np.array_equal(less, np.roll(a < b, shift))


@pytest.mark.parametrize("kind", ["f16", "bf16", "f32", "f64"])
def test_comparisons_are_ordered_or_true_for_nan(kind):
    a, b = operands(kind, 2, 200)
    x, y = a.astype("f8"), b.astype("f8")
    nan = np.isnan(x) | np.isnan(y)
    tests = {"eq": x == y, "ne": x != y, "lt": x < y, "le": x <= y, "gt": x > y, "ge": x >= y}
    for how, wanted in tests.items():
        for name, expected in ((how, wanted & ~nan), (how + "u", wanted | nan)):
            found = run(lambda text, v: floats.compared(text, name, kind, (), *v), [kind] * 2, "pred", a, b)  # noqa: B023
            assert np.array_equal(found, expected), name
    for name, expected in (("num", ~nan), ("nan", nan)):
        found = run(lambda text, v: floats.compared(text, name, kind, (), *v), [kind] * 2, "pred", a, b)  # noqa: B023
        assert np.array_equal(found, expected), name


@pytest.mark.parametrize("how", ["neg", "abs", "copysign"])
@pytest.mark.parametrize("kind", ["f16", "bf16", "f32", "f64"])
def test_signs_change_and_nothing_else(how, kind):
    values = operands(kind, 2, 300)[: 2 if how == "copysign" else 1]
    found = run(
        lambda text, v: floats.arithmetic(text, how, kind, (kind,), v), [kind] * len(values), kind, *values
    )
    width = 8 * found.dtype.itemsize
    raw = bits(values[-1]).astype(object)
    top = 1 << width - 1
    wanted = {
        "neg": lambda: raw ^ top,
        "abs": lambda: raw & (top - 1),
        "copysign": lambda: (raw & (top - 1)) | (bits(values[0]).astype(object) & top),
    }[how]()
    assert np.array_equal(found.astype(object), wanted)


@pytest.mark.parametrize(("how", "exact"), [("ex2", np.exp2), ("tanh", np.tanh)])
@pytest.mark.parametrize("kind", ["f16", "bf16"])
def test_functions_of_every_narrow_number_are_nearest(how, exact, kind):
    values = every(kind)
    found = run(lambda text, v: floats.arithmetic(text, how, kind, ("approx", kind), v), [kind], kind, values)
    wanted = exact(values.astype("f8")).astype("f4").astype(STORED[kind])
    number = ~np.isnan(values)
    assert (found[~number] == 0x7FFF).all()
    assert np.abs(found[number].astype("i4") - bits(wanted)[number].astype("i4")).max() <= 1


@pytest.mark.parametrize("how", ["ex2", "lg2", "sin", "cos", "rsqrt", "tanh"])
def test_functions_in_single_precision(how):
    values = np.random.default_rng(2).uniform(0.01, 20, 500).astype("f4")
    found = run(lambda text, v: floats.arithmetic(text, how, "f32", ("approx",), v), ["f32"], "f32", values)
    exact = {"ex2": np.exp2, "lg2": np.log2, "rsqrt": lambda x: x**-0.5}.get(how) or getattr(np, how)
    assert np.allclose(found.view("f4"), exact(values.astype("f8")), rtol=1e-6, atol=1e-7)

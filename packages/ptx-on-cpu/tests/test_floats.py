"""Floats in LLVM's text against exact rational arithmetic, rounded once."""

import ctypes
import math
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

from ptx_on_cpu.engine.jit import compiled
from ptx_on_cpu.translate import conversions, floats
from ptx_on_cpu.translate.formats import register_type
from ptx_on_cpu.translate.text import Text

# Significant digits, least exponent, largest exponent.
RANGES = {
    "f64": (53, -1022, 1023),
    "f32": (24, -126, 127),
    "tf32": (11, -126, 127),
    "bf16": (8, -126, 127),
    "f16": (11, -14, 15),
}
STORED = {"f64": "f8", "f32": "f4", "f16": "f2", "bf16": ml_dtypes.bfloat16, "tf32": "f4"}
STORED |= {"e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2}
MODES = ("rn", "rz", "rm", "rp")
INFINITE = math.inf


@pytest.fixture(autouse=True)
def numpy_is_silent():
    """NaN of all kinds are converted and compared here."""
    with np.errstate(all="ignore"):
        yield


def run(emit, kinds, into, *arrays):
    """The results of `emit(text, values)` for the elements of arrays, whose PTX types are `kinds`."""
    text = Text()
    types = [register_type(kind) for kind in kinds]
    for i, kind in enumerate(types):
        text.do(f"%a{i} = getelementptr ptr, ptr %arrays, i64 {i}")
        text.do(f"%b{i} = load ptr, ptr %a{i}")
        text.do(f"%p{i} = getelementptr {kind}, ptr %b{i}, i64 %i")
        text.do(f"%v{i} = load {kind}, ptr %p{i}")
    result = emit(text, [f"%v{i}" for i in range(len(kinds))])
    out = "i1" if into == "pred" else register_type(into)
    if into == "pred":
        result, out = text.new(f"zext i1 {result} to i8"), "i8"
    body = "\n".join(text.lines)
    module = (
        "\n".join(text.declared.values())
        + f"""
define void @run(ptr %arrays, ptr %out, i64 %count) {{
  br label %loop
loop:
  %i = phi i64 [0, %0], [%next, %loop]
{body}
  %to = getelementptr {out}, ptr %out, i64 %i
  store {out} {result}, ptr %to
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %count
  br i1 %more, label %loop, label %end
end:
  ret void
}}"""
    )
    code = compiled(module, None)
    arrays = [np.ascontiguousarray(array) for array in arrays]
    size = {"i1": 1, "i8": 1, "i16": 2, "i32": 4, "i64": 8, "float": 4, "double": 8}[out]
    found = np.zeros(len(arrays[0]), f"u{size}")
    places = (ctypes.c_void_p * len(arrays))(*(array.ctypes.data for array in arrays))
    ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)(code.run)(
        ctypes.addressof(places), found.ctypes.data, len(found)
    )
    return found


def bits(array):
    return array.view(f"u{array.dtype.itemsize}")


def samples(kind, count, seed):
    """Special values, and random bits, half of them of numbers near one."""
    generator = np.random.default_rng(seed)
    dtype = np.dtype(STORED[kind])
    raw = generator.integers(0, 1 << 8 * dtype.itemsize, count, dtype=f"u{dtype.itemsize}").view(dtype)
    near = (generator.standard_normal(count) * 2.0 ** generator.integers(-4, 5, count)).astype(dtype)
    near[::3] = np.round(near[::3].astype("f8") * 4) / 4
    return np.where(np.arange(count) % 2, raw, near)


def special(kind):
    digits, least, most = RANGES[kind]
    tiny, top = 2.0 ** (least - digits + 1), 2.0**most * (2 - 2.0 ** (1 - digits))
    some = [0.0, tiny, 2.0**least - tiny, 2.0**least, 0.5, 1.0, 1 + 2.0 ** (1 - digits), 1.5, 2.0, 3.0, top]
    values = [sign * value for value in [*some, INFINITE] for sign in (1, -1)]
    return np.array([*values, math.nan]).astype(STORED[kind])


def operands(kind, number, count=3000):
    """Every combination of special values (for three, some), then random ones."""
    few = special(kind) if number < 3 else special(kind)[[0, 1, 2, 3, 9, 10, 11, 14, 20, 21, 22, 23, 24]]
    grid = np.meshgrid(*[few] * number, indexing="ij")
    return [np.concatenate([g.ravel(), samples(kind, count, i)]) for i, g in enumerate(grid)]


def rounded(exact, kind, mode, zero=0.0):
    """A fraction rounded to a format; `zero` for nothing."""
    digits, least, most = RANGES[kind]
    if exact == 0:
        return zero
    size, negative = abs(exact), exact < 0
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    exponent -= size < Fraction(2) ** exponent
    quantum = Fraction(2) ** (max(exponent, least) - digits + 1)
    below = size // quantum
    rest = size / quantum - below
    up = {
        "rn": rest > Fraction(1, 2) or (rest == Fraction(1, 2) and below % 2 == 1),
        "rna": rest >= Fraction(1, 2),
        "rz": False,
        "rm": rest > 0 and negative,
        "rp": rest > 0 and not negative,
    }[mode]
    value = (below + up) * quantum
    if value >= Fraction(2) ** (most + 1):
        away = mode in ("rn", "rna") or mode == ("rm" if negative else "rp")
        value = INFINITE if away else Fraction(2) ** most * (2 - Fraction(2) ** (1 - digits))
    return math.copysign(float(value), -1.0 if negative else 1.0)


def special_result(how, values):
    """What IEEE 754 says where an operand is no number or infinite: by the host's doubles."""
    v = [np.float64(x) for x in values]
    functions = {
        "add": lambda a, b: a + b,
        "sub": lambda a, b: a - b,
        "mul": lambda a, b: a * b,
        "fma": lambda a, b, c: np.sign(a) * np.sign(b) * INFINITE + c if np.isinf([a, b]).any() else c,
        "div": lambda a, b: a / b,
        "rcp": lambda a: 1 / a,
        "sqrt": lambda a: np.sqrt(a),
    }
    return math.nan if any(np.isnan(x) for x in v) else float(functions[how](*v))


def result(how, kind, mode, values):
    """An operation on floats, exactly, rounded once."""
    v = [float(x) for x in values]
    if (
        not all(map(math.isfinite, v))
        or (how in ("div", "rcp") and v[-1] == 0)
        or (how == "sqrt" and v[0] < 0)
    ):
        return special_result(how, v)
    signs = [math.copysign(1, x) < 0 for x in v]
    f = [Fraction(x) for x in v]
    if how in ("add", "sub", "fma"):
        if how == "fma":
            f, signs = [f[0] * f[1], f[2]], [signs[0] != signs[1], signs[2]]
        if how == "sub":
            f[1], signs[1] = -f[1], not signs[1]
        negative = signs[0] if signs[0] == signs[1] else mode == "rm"
        return rounded(f[0] + f[1], kind, mode, -0.0 if negative else 0.0)
    if how == "sqrt":
        return root(f[0], kind, mode, v[0])
    negative = signs[0] != signs[-1] if how != "rcp" else False
    exact = f[0] * f[1] if how == "mul" else f[0] / f[1] if how == "div" else 1 / f[0]
    return rounded(exact, kind, mode, -0.0 if negative else 0.0)


def root(exact, kind, mode, zero):
    """The square root, from its integer part with 200 binary digits and whether that is all of it."""
    scaled = exact * (1 << 2400)
    whole = math.isqrt(int(scaled))
    more = Fraction(0) if whole * whole == scaled else Fraction(1, 2)
    return rounded((whole + more) / (1 << 1200), kind, mode, zero)


def assert_same(found, wanted, kind, *inputs):
    """Compare bits; of f64, any NaN is NaN."""
    wanted = np.array(wanted, "f8")
    expected = bits(wanted.astype(STORED[kind])).copy()
    nan = np.isnan(wanted)
    width = 8 * found.dtype.itemsize
    if kind == "f64":
        found = np.where(nan & np.isnan(found.view("f8")), expected, found)
    else:
        expected[nan] = (1 << width - 1) - 1
    wrong = np.flatnonzero(found != expected)
    at = wrong[:5]
    assert not len(wrong), [(hex(found[i]), hex(expected[i]), *(float(x[i]) for x in inputs)) for i in at]


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


def every(kind):
    dtype = np.dtype(STORED[kind])
    return np.arange(1 << 8 * dtype.itemsize).astype(f"u{dtype.itemsize}").view(dtype)


def convert(into, given, *parts):
    return lambda text, v: conversions.converted(text, into, given, (*parts, into, given), v)


@pytest.mark.parametrize("into", ["f32", "f64"])
@pytest.mark.parametrize("given", ["f16", "bf16"])
def test_every_narrow_number_is_widened_exactly(given, into):
    values = every(given)
    found = run(convert(into, given), [given], into, values)
    number = ~np.isnan(values)
    assert np.array_equal(found[number], bits(values.astype(STORED[into]))[number])
    assert np.isnan(found.view(STORED[into])[~number]).all()


def between(kind, wide):
    """Numbers of a wider format: those of a narrow one, what lies halfway, and their neighbours."""
    step = 1 if kind in ("e4m3", "e5m2") else 31
    some = every(kind)[::step].astype("f8")
    some = np.sort(some[np.isfinite(some)])
    middle = (some[1:] + some[:-1]) / 2
    values = np.concatenate([special("f32").astype("f8"), some, middle, [1e30, -1e30, 65519.9, 65520.0]])
    values = values.astype(STORED[wide])
    around = [np.nextafter(values, np.array(x, values.dtype)) for x in (-np.inf, np.inf)]
    return np.concatenate([values, *around])


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("given", "into"), [("f32", "f16"), ("f64", "f16"), ("f32", "bf16"), ("f64", "bf16"), ("f64", "f32")]
)
def test_a_number_is_narrowed_with_one_rounding(given, into, mode):
    values = between(into if into != "f32" else "f16", given)
    if into == "f32":
        values = np.concatenate(
            [values, samples("f64", 4000, 5), samples("f32", 2000, 6).astype("f8") * (1 + 1e-9)]
        )
    found = run(convert(into, given, mode), [given], into, values)
    wanted = [
        rounded(Fraction(float(x)), into, mode, float(x)) if np.isfinite(x) else float(x) for x in values
    ]
    assert_same(found, wanted, into, values)


def test_tf32_rounds_ties_away_and_leaves_its_lower_bits_zero():
    values = np.concatenate(
        [samples("f32", 4000, 1), special("f32"), np.float32([1 + 2.0**-11, 1 + 3 * 2.0**-11])]
    )
    found = run(convert("tf32", "f32", "rna"), ["f32"], "tf32", values)
    wanted = [
        rounded(Fraction(float(x)), "tf32", "rna", float(x)) if np.isfinite(x) else float(x) for x in values
    ]
    assert_same(found, wanted, "tf32", values)


@pytest.mark.parametrize("kind", ["e4m3", "e5m2"])
def test_pairs_of_eight_bits_saturate_and_round_as_ml_dtypes_does(kind):
    values = between(kind, "f32")
    values = values[: len(values) // 2 * 2].reshape(2, -1)
    found = run(convert(f"{kind}x2", "f32", "rn", "satfinite"), ["f32"] * 2, f"{kind}x2", *values)
    top = float(ml_dtypes.finfo(STORED[kind]).max)
    for shift, given in ((8, values[0]), (0, values[1])):
        wanted = bits(np.clip(given, -top, top).astype(STORED[kind]))
        assert np.array_equal((found >> shift) & 0xFF, np.where(np.isnan(given), 0x7F, wanted))


@pytest.mark.parametrize("kind", ["e4m3", "e5m2"])
def test_every_number_of_eight_bits_becomes_a_half_and_returns(kind):
    upper, lower = (x.ravel() for x in np.meshgrid(*[np.arange(256)] * 2))
    pairs = (upper << 8 | lower).astype("u2")
    halves = run(convert("f16x2", f"{kind}x2", "rn"), [f"{kind}x2"], "f16x2", pairs)
    numbers = every(kind).astype("f2")
    for shift, index in ((16, upper), (0, lower)):
        found, wanted = (halves >> shift).astype("u2"), numbers[index]
        assert np.array_equal(found, np.where(np.isnan(wanted), 0x7FFF, bits(wanted)))
    back = run(convert(f"{kind}x2", "f16x2", "rn", "satfinite"), ["f16x2"], f"{kind}x2", halves)
    finite = np.isfinite(numbers[upper]) & np.isfinite(numbers[lower])
    assert np.array_equal(back[finite], pairs[finite])


def test_pairs_put_the_first_operand_above():
    a, b = np.float32([1.0, -70000.0, -2.0]), np.float32([2.0, np.nan, 3.0])
    found = run(convert("f16x2", "f32", "rn", "relu", "satfinite"), ["f32"] * 2, "f16x2", a, b)
    assert [hex(x) for x in found] == ["0x3c004000", "0x7fff", "0x4200"]
    found = run(convert("bf16x2", "f32", "rz", "satfinite"), ["f32"] * 2, "bf16x2", a * np.float32(1e36), b)
    assert [hex(x) for x in found] == ["0x7b404000", "0xff7f7fff", "0xfbc04040"]


INTEGERS = {
    f"{sign}{8 * size}": f"{code}{size}" for sign, code in (("s", "i"), ("u", "u")) for size in (1, 2, 4, 8)
}
WHOLE = {"rni": round, "rzi": math.trunc, "rmi": math.floor, "rpi": math.ceil}


@pytest.mark.parametrize("into", INTEGERS)
@pytest.mark.parametrize("given", ["f16", "f32", "f64"])
@pytest.mark.parametrize("mode", WHOLE)
def test_integers_of_floats_are_clamped_and_nan_has_its_value(given, into, mode):
    limits = np.iinfo(INTEGERS[into])
    near = np.array([limits.min, limits.max, -1, 0, 1, 255, 2**31], "f8")
    values = np.concatenate([near + d for d in (-0.5, 0, 0.5, 1.5)] + [near * 1.1]).astype(STORED[given])
    values = np.concatenate([values, special(given), samples(given, 300, 9)])
    found = run(convert(into, given, mode), [given], into, values).view(INTEGERS[into])
    nan = (
        0 if given != "f64" and into[1:] != "64" else (1 << int(into[1:]) - 1) * (-1 if into[0] == "s" else 1)
    )
    for value, x in zip(found, values, strict=True):
        x = float(x)
        wanted = nan if math.isnan(x) else x
        if math.isfinite(x):
            wanted = WHOLE[mode](x)
        assert (
            int(value) == wanted if math.isnan(x) else int(value) == max(limits.min, min(limits.max, wanted))
        ), x


@pytest.mark.parametrize("given", INTEGERS)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("into", ["f16", "bf16", "f32", "f64"])
def test_floats_of_integers_are_rounded_once(given, into, mode):
    limits, generator = np.iinfo(INTEGERS[given]), np.random.default_rng(4)
    values = generator.integers(limits.min, limits.max, 400, dtype=INTEGERS[given], endpoint=True)
    values >>= generator.integers(0, limits.bits, 400).astype(values.dtype)
    powers = [x for b in range(8, limits.bits - 1) for x in (1 << b, (1 << b) + 1, (1 << b) - 1)]
    values = np.concatenate([values, np.array([limits.min, limits.max, 0, 1, *powers], INTEGERS[given])])
    found = run(convert(into, given, mode), [given], into, values)
    assert_same(found, [rounded(Fraction(int(x)), into, mode) for x in values], into, values)


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


@pytest.mark.parametrize("mode", WHOLE)
@pytest.mark.parametrize("kind", ["f16", "bf16", "f32", "f64"])
def test_integral_floats(kind, mode):
    values = np.concatenate([special(kind), samples(kind, 500, 3)])
    found = run(convert(kind, kind, mode), [kind], kind, values)
    whole = {"rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil}[mode]
    assert_same(found, whole(values.astype("f8")), kind, values)

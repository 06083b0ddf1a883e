"""Floats of PTX in exact rational arithmetic, and what LLVM's text computes for arrays of them."""

import ctypes
import math
from fractions import Fraction

import ml_dtypes
import numpy as np

from ptx_on_cpu.engine.jit import compiled
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


def every(kind):
    dtype = np.dtype(STORED[kind])
    return np.arange(1 << 8 * dtype.itemsize).astype(f"u{dtype.itemsize}").view(dtype)

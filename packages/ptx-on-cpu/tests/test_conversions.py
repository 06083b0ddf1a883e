"""Conversions of floats in LLVM's text against exact rational arithmetic, rounded once."""

import math
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from exact_floats import MODES, STORED, assert_same, bits, every, rounded, run, samples, special

from ptx_on_cpu.translate import conversions

INTEGERS = {
    f"{sign}{8 * size}": f"{code}{size}" for sign, code in (("s", "i"), ("u", "u")) for size in (1, 2, 4, 8)
}
WHOLE = {"rni": round, "rzi": math.trunc, "rmi": math.floor, "rpi": math.ceil}


@pytest.fixture(autouse=True)
def numpy_is_silent():
    """NaN of all kinds are converted and compared here."""
    with np.errstate(all="ignore"):
        yield


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


@pytest.mark.parametrize("mode", WHOLE)
@pytest.mark.parametrize("kind", ["f16", "bf16", "f32", "f64"])
def test_integral_floats(kind, mode):
    values = np.concatenate([special(kind), samples(kind, 500, 3)])
    found = run(convert(kind, kind, mode), [kind], kind, values)
    whole = {"rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil}[mode]
    assert_same(found, whole(values.astype("f8")), kind, values)

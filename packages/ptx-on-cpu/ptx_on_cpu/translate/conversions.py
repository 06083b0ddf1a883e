"""Conversions between floats of all formats, and between floats and integers, in LLVM's text."""

from collections.abc import Collection, Sequence
from typing import Final

from ptx_on_cpu.translate.floats import directed, odd_sum, rounding
from ptx_on_cpu.translate.formats import (
    FORMATS,
    as_double,
    by_halves,
    canonical,
    clamped,
    flushed,
    narrowed,
    packed,
    widened,
)
from ptx_on_cpu.translate.text import FLOATS, Text

_INTEGRAL: Final = {"rni": "roundeven", "rzi": "trunc", "rmi": "floor", "rpi": "ceil"}


def converted(text: Text, into: str, given: str, parts: Collection[str], values: Sequence[str]) -> str:
    """Return the result of `cvt.parts` for one value, or for the upper and the lower one of a pair.

    Numbers beyond an integer type become its nearest. NaN becomes 0; the type's highest bit alone from f64
    or where the integer has 64 bits.
    """
    if len(values) == 2:
        single = into.removesuffix("x2")
        upper, lower = (_to_float(text, single, given, parts, value) for value in values)
        return packed(text, into, upper, lower)
    if given.endswith("x2"):
        return _pair(text, into, given, parts, values[0])
    if given not in FORMATS:
        return _from_integer(text, into, given, parts, values[0])
    if into not in FORMATS:
        return _to_integer(text, into, given, parts, values[0])
    return _to_float(text, into, given, parts, values[0])


def _pair(text: Text, into: str, given: str, parts: Collection[str], value: str) -> str:
    """Return a pair of one format as a pair of another."""
    found: list[str] = []

    def convert(half: str, values: list[str]) -> str:
        found.append(_to_float(text, into.removesuffix("x2"), half, parts, values[0]))
        return values[0]

    by_halves(text, given, [value], convert)
    return packed(text, into, found[1], found[0])


def _to_float(text: Text, into: str, given: str, parts: Collection[str], value: str) -> str:
    """Return a float in another format, or rounded to an integral value in its format."""
    if "ftz" in parts and given == "f32":
        value = flushed(text, given, value)
    if into in FLOATS and (given != "f64" or into == "f64" or rounding(parts) == "rn"):
        found = _to_native(text, into, given, parts, value)
    else:
        wide = _integral(text, "f64", parts, as_double(text, given, value))
        mode = "rna" if "rna" in parts else rounding(parts)
        found = narrowed(text, into, clamped(text, "f64", wide, parts), mode, "satfinite" in parts)
    return flushed(text, into, found) if "ftz" in parts and into == "f32" else found


def _to_native(text: Text, into: str, given: str, parts: Collection[str], value: str) -> str:
    """Return a float as f32 or f64, rounded to nearest where it has to be."""
    if given not in FLOATS:
        value, given = widened(text, given, value), "f32"
    value = _integral(text, given, parts, value)
    if (given, into) == ("f64", "f32"):
        value = text.new(f"fptrunc double {value} to float")
    elif given != into:
        value = text.new(f"fpext float {value} to double")
    return canonical(text, into, clamped(text, into, value, parts))


def _integral(text: Text, kind: str, parts: Collection[str], value: str) -> str:
    """Return a float or double rounded to an integral one, where a modifier says so."""
    how = next((name for part, name in _INTEGRAL.items() if part in parts), "")
    return text.intrinsic(how, FLOATS[kind], value) if how else value


def _to_integer(text: Text, into: str, given: str, parts: Collection[str], value: str) -> str:
    if "ftz" in parts:
        value = flushed(text, given, value)
    wide = given if given in FLOATS else "f32"
    value = value if given in FLOATS else widened(text, given, value)
    mine, result = FLOATS[wide], f"i{into[1:]}"
    value = _integral(text, wide, parts, value)
    name = f"llvm.fpto{'s' if into[0] == 's' else 'u'}i.sat.{result}.{wide}"
    found = text.call(name, result, f"{mine} {value}")
    if given != "f64" and into[1:] != "64":
        return found
    is_nan = text.new(f"fcmp uno {mine} {value}, 0.0")
    return text.new(f"select i1 {is_nan}, {result} {1 << int(into[1:]) - 1}, {result} {found}")


def _from_integer(text: Text, into: str, given: str, parts: Collection[str], value: str) -> str:
    sign, width, mode = given[0], int(given[1:]), rounding(parts)
    if into in FLOATS and mode == "rn":
        mine = FLOATS[into]
        found = text.new(f"{'s' if sign == 's' else 'u'}itofp i{width} {value} to {mine}")
        return clamped(text, into, found, parts)
    value = text.resized(value, width, 64, sign == "s")
    is_signed = sign == "s" or width < 64
    high = text.new(f"{'ashr' if is_signed else 'lshr'} i64 {value}, 32")
    low = text.new(f"and i64 {value}, {(1 << 32) - 1}")
    upper, lower = (text.new(f"sitofp i64 {half} to double") for half in (high, low))
    upper = text.new(f"fmul double {upper}, 4294967296.0")  # both are exact, so that one sum rounds
    if into == "f64":
        return clamped(text, into, directed(text, "add", mode, [upper, lower]), parts)
    return narrowed(text, into, clamped(text, "f64", odd_sum(text, upper, lower, mode), parts), mode)

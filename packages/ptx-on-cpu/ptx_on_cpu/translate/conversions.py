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


def converted(text: Text, into: str, source: str, modifiers: Collection[str], values: Sequence[str]) -> str:
    """Return the result of `cvt.modifiers` for one value, or for the upper and the lower one of a pair.

    Numbers beyond an integer type become its nearest. NaN becomes 0; the type's highest bit alone from f64
    or where the integer has 64 bits.
    """
    if len(values) == 2:
        single = into.removesuffix("x2")
        upper, lower = (_to_float(text, single, source, modifiers, value) for value in values)
        return packed(text, into, upper, lower)
    if source.endswith("x2"):
        return _pair(text, into, source, modifiers, values[0])
    if source not in FORMATS:
        return _from_integer(text, into, source, modifiers, values[0])
    if into not in FORMATS:
        return _to_integer(text, into, source, modifiers, values[0])
    return _to_float(text, into, source, modifiers, values[0])


def _pair(text: Text, into: str, source: str, modifiers: Collection[str], value: str) -> str:
    """Return a pair of one format as a pair of another."""
    halves: list[str] = []

    def convert(half: str, values: list[str]) -> str:
        halves.append(_to_float(text, into.removesuffix("x2"), half, modifiers, values[0]))
        return values[0]

    # Run for what `convert` collects: a pair of the source's format is not wanted.
    by_halves(text, source, [value], convert)
    return packed(text, into, halves[1], halves[0])


def _to_float(text: Text, into: str, source: str, modifiers: Collection[str], value: str) -> str:
    """Return a float in another format, or rounded to an integral value in its format."""
    if "ftz" in modifiers and source == "f32":
        value = flushed(text, source, value)
    # Exact, or rounded to nearest, as the host does anyway.
    if into in FLOATS and (source != "f64" or into == "f64" or rounding(modifiers) == "rn"):
        result = _to_native(text, into, source, modifiers, value)
    else:
        wide = _integral(text, "f64", modifiers, as_double(text, source, value))
        # Of all instructions conversions alone round ties away from zero.
        mode = "rna" if "rna" in modifiers else rounding(modifiers)
        result = narrowed(text, into, clamped(text, "f64", wide, modifiers), mode, "satfinite" in modifiers)
    return flushed(text, into, result) if "ftz" in modifiers and into == "f32" else result


def _to_native(text: Text, into: str, source: str, modifiers: Collection[str], value: str) -> str:
    """Return a float as f32 or f64, rounded to nearest where it has to be."""
    if source not in FLOATS:
        value, source = widened(text, source, value), "f32"
    value = _integral(text, source, modifiers, value)
    if (source, into) == ("f64", "f32"):
        value = text.new(f"fptrunc double {value} to float")
    elif source != into:
        value = text.new(f"fpext float {value} to double")
    return canonical(text, into, clamped(text, into, value, modifiers))


def _integral(text: Text, kind: str, modifiers: Collection[str], value: str) -> str:
    """Return a float or double rounded to an integral one, where a modifier says so."""
    how = next((name for modifier, name in _INTEGRAL.items() if modifier in modifiers), "")
    return text.intrinsic(how, FLOATS[kind], value) if how else value


def _to_integer(text: Text, into: str, source: str, modifiers: Collection[str], value: str) -> str:
    if "ftz" in modifiers:
        value = flushed(text, source, value)
    wide = source if source in FLOATS else "f32"
    value = value if source in FLOATS else widened(text, source, value)
    mine, result = FLOATS[wide], f"i{into[1:]}"
    value = _integral(text, wide, modifiers, value)
    name = f"llvm.fpto{'s' if into[0] == 's' else 'u'}i.sat.{result}.{wide}"
    number = text.call(name, result, f"{mine} {value}")
    if source != "f64" and into[1:] != "64":
        return number
    is_nan = text.new(f"fcmp uno {mine} {value}, 0.0")
    return text.new(f"select i1 {is_nan}, {result} {1 << int(into[1:]) - 1}, {result} {number}")


def _from_integer(text: Text, into: str, source: str, modifiers: Collection[str], value: str) -> str:
    sign, width, mode = source[0], int(source[1:]), rounding(modifiers)
    if into in FLOATS and mode == "rn":
        mine = FLOATS[into]
        number = text.new(f"{'s' if sign == 's' else 'u'}itofp i{width} {value} to {mine}")
        return clamped(text, into, number, modifiers)
    # One way for all widths; only unsigned 64 bits need the care below.
    value = text.resized(value, width, 64, sign == "s")
    is_signed = sign == "s" or width < 64
    high = text.new(f"{'ashr' if is_signed else 'lshr'} i64 {value}, 32")
    low = text.new(f"and i64 {value}, {(1 << 32) - 1}")
    upper, lower = (text.new(f"sitofp i64 {half} to double") for half in (high, low))
    upper = text.new(f"fmul double {upper}, 4294967296.0")  # both are exact, so that one sum rounds
    if into == "f64":
        return clamped(text, into, directed(text, "add", mode, [upper, lower]), modifiers)
    return narrowed(text, into, clamped(text, "f64", odd_sum(text, upper, lower, mode), modifiers), mode)

"""Floating-point formats of PTX in LLVM's text: their bits as numbers, and numbers rounded to their bits.

A value is LLVM's name or literal: f32 a `float`, f64 a `double`, f16 and bf16 their bits in an i16, pairs of
these an i32. Everything narrow is computed in `double`, rounded to odd where that is not exact, and rounded
to its format once: so a result never depends on which formats the host's processor knows.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from string import Template
from typing import Final

from ptx_on_cpu.translate.text import FLOATS, Text, llvm_type, pieces, text_of


@dataclass(frozen=True)
class Format:
    """A binary format: its digits count the leading one, its exponents begin with `least`.

    `beyond` are the bits that follow the largest finite number: infinity, if the format has one. A format
    of fewer bits than its register (tf32) lies in the register's upper bits, `unused` ones below.
    """

    width: int
    digits: int
    least: int
    beyond: int
    nan: int
    unused: int = 0

    @property
    def least_normal(self) -> int:
        """Return the bits of the smallest normal number."""
        return 1 << self.digits - 1


FORMATS: Final = {
    "f64": Format(64, 53, -1022, 0x7FF << 52, 0xFFF8 << 48),  # the NaN that CUDA calls CUDART_NAN
    "f32": Format(32, 24, -126, 0xFF << 23, 0x7FFFFFFF),
    "tf32": Format(32, 11, -126, 0xFF << 10, 0x7FFFFFFF, unused=13),
    "bf16": Format(16, 8, -126, 0xFF << 7, 0x7FFF),
    "f16": Format(16, 11, -14, 0x1F << 10, 0x7FFF),
    "e5m2": Format(8, 3, -14, 0x1F << 2, 0x7F),
    "e4m3": Format(8, 4, -6, 0x7F, 0x7F),
}


def register_type(kind: str) -> str:
    """Return LLVM's type for a value of a PTX type."""
    pairs = kind.endswith("x2")
    of = FORMATS.get(kind.removesuffix("x2"))
    return llvm_type(kind, of.width << pairs if of else int(kind[1:]))


def bits_of(text: Text, kind: str, value: str) -> str:
    """Return a value's bits as an integer."""
    width = FORMATS[kind].width
    return text.new(f"bitcast {FLOATS[kind]} {value} to i{width}") if kind in FLOATS else value


def of_bits(text: Text, kind: str, bits: str) -> str:
    """Return the value that has these bits."""
    width = FORMATS[kind].width
    return text.new(f"bitcast i{width} {bits} to {FLOATS[kind]}") if kind in FLOATS else bits


def magnitude(text: Text, kind: str, bits: str) -> str:
    """Return bits without the sign."""
    width = FORMATS[kind].width
    return text.new(f"and i{width} {bits}, {(1 << width - 1) - 1}")


def sign(text: Text, kind: str, bits: str) -> str:
    """Return bits with nothing but the sign."""
    width = FORMATS[kind].width
    return text.new(f"and i{width} {bits}, {1 << width - 1}")


def flushed(text: Text, kind: str, value: str) -> str:
    """Return zero of the same sign for a subnormal number (`.ftz`), and all else as it is."""
    if kind == "f64":  # .ftz is about single and half precision
        return value
    mine, bits = f"i{FORMATS[kind].width}", bits_of(text, kind, value)
    small = text.new(f"icmp ult {mine} {magnitude(text, kind, bits)}, {FORMATS[kind].least_normal}")
    return of_bits(text, kind, text.new(f"select i1 {small}, {mine} {sign(text, kind, bits)}, {mine} {bits}"))


def clamped(text: Text, kind: str, value: str, modifiers: Collection[str]) -> str:
    """Return a float or double in [0, 1] for `.sat`, with 0 for NaN; not below 0 for `.relu`."""
    native = FLOATS[kind]
    if "sat" in modifiers:
        # `ogt` is false for NaN, which so becomes 0.
        positive = text.new(f"fcmp ogt {native} {value}, 0.0")
        value = text.new(f"select i1 {positive}, {native} {value}, {native} 0.0")
        large = text.new(f"fcmp ogt {native} {value}, 1.0")
        value = text.new(f"select i1 {large}, {native} 1.0, {native} {value}")
    if "relu" in modifiers:  # NaN stays NaN
        negative = text.new(f"fcmp ole {native} {value}, 0.0")
        value = text.new(f"select i1 {negative}, {native} 0.0, {native} {value}")
    return value


def canonical(text: Text, kind: str, value: str) -> str:
    """Return the NaN that GPUs compute in single precision for any; double precision keeps the operand's."""
    if kind != "f32":
        return value
    bits = bits_of(text, kind, value)  # LLVM gives up a NaN's bits in comparisons of floats
    is_nan = text.new(f"icmp ugt i32 {magnitude(text, kind, bits)}, {FORMATS[kind].beyond}")
    return of_bits(text, kind, text.new(f"select i1 {is_nan}, i32 {FORMATS[kind].nan}, i32 {bits}"))


def by_halves(text: Text, kind: str, operands: Sequence[str], each: Callable[[str, list[str]], str]) -> str:
    """Apply `each(kind, values)` to the lower and to the upper halves of pairs of `kind`."""
    whole, half = register_type(kind), f"i{FORMATS[kind[:-2]].width}"
    halves: list[str] = []
    for at in (0, FORMATS[kind[:-2]].width):
        shifted = [text.new(f"lshr {whole} {operand}, {at}") for operand in operands]
        values = [text.new(f"trunc {whole} {value} to {half}") for value in shifted]
        halves.append(each(kind[:-2], values))
    return packed(text, kind, halves[1], halves[0])


def packed(text: Text, kind: str, upper: str, lower: str) -> str:
    """Return a pair of `kind` with these halves."""
    whole, width = register_type(kind), FORMATS[kind[:-2]].width
    wide = [text.new(f"zext i{width} {half} to {whole}") for half in (upper, lower)]
    moved = text.new(f"shl {whole} {wide[0]}, {width}")
    return text.new(f"or {whole} {moved}, {wide[1]}")


_WIDEN, _NARROW = map(Template, pieces(text_of("formats.ll")).values())


def widened(text: Text, kind: str, value: str) -> str:
    """Return a narrow value as a float, exactly; any NaN of f16 becomes the one of f32."""
    if kind == "bf16":  # is the upper half of an f32
        upper = text.new(f"shl i32 {text.new(f'zext i16 {value} to i32')}, 16")
        return text.new(f"bitcast i32 {upper} to float")
    of = FORMATS[kind]
    name = f"ptx.widen.{kind}"
    definition = _WIDEN.substitute(
        kind=kind,
        width=of.width,
        sign=1 << of.width - 1,
        # f32 has 24 digits, and exponents from -126 on.
        move=24 - of.digits,
        scale=(127 + 126 + of.least) << 23,
        beyond=of.beyond,
        last=of.beyond - (kind == "e4m3"),  # without infinity, NaN follows the largest number
        up=32 - of.width,
        nan=FORMATS["f32"].nan,
    )
    text.declare(name, definition)
    return text.new(f"call float @{name}(i{of.width} {value})")


def as_double(text: Text, kind: str, value: str) -> str:
    """Return any value as a double, exactly."""
    if kind == "f64":
        return value
    single = value if kind == "f32" else widened(text, kind, value)
    return text.new(f"fpext float {single} to double")


def narrowed(text: Text, kind: str, value: str, mode: str = "rn", satfinite: bool = False) -> str:
    """Return a double rounded to `kind` by "rn", "rna", "rz", "rm" or "rp"; NaN becomes the format's own.

    With `satfinite` numbers that are too large become the largest, infinity too.
    """
    of = FORMATS[kind]
    name = f"{kind}.{mode}" + ".satfinite" * satfinite
    definition = _NARROW.substitute(
        name=name,
        mode=mode,
        satfinite=str(satfinite).lower(),
        width=of.width,
        bias=1023 + of.least,
        cut=53 - of.digits,
        fraction=of.digits - 1,
        unused=of.unused,
        largest=of.beyond - 1,
        beyond=of.beyond,
        sign=1 << of.width - of.unused - 1,
        nan=of.nan,
    )
    text.declare(f"ptx.narrow.{name}", definition)
    return of_bits(text, kind, text.new(f"call i{of.width} @ptx.narrow.{name}(double {value})"))

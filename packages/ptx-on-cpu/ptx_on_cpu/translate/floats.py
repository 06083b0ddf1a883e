"""Arithmetic and comparisons of PTX's floats in LLVM's text; each result is rounded once."""

from collections.abc import Collection, Sequence
from typing import Final

from ptx_on_cpu.translate.formats import (
    FORMATS,
    as_double,
    bits_of,
    by_halves,
    canonical,
    clamped,
    flushed,
    magnitude,
    narrowed,
    of_bits,
    sign,
    widened,
)
from ptx_on_cpu.translate.text import FLOATS, Text, pieces, text_of

MODES: Final = {"rz": 0, "rn": 1, "rp": 2, "rm": 3}  # as llvm.set.rounding counts them
_TOWARDS_A_MODE: Final = ("add", "sub", "mul", "fma", "div", "rcp", "sqrt")
_FUNCTIONS: Final = {
    "sqrt": "sqrt",
    "rsqrt": "sqrt",
    "ex2": "exp2",
    "lg2": "log2",
    "sin": "sin",
    "cos": "cos",
}

_ODD: Final = pieces(text_of("floats.ll"))
# Never inlined: ordinary arithmetic of a caller must not be moved to where the mode is another.
_DIRECTED: Final = """define internal double @ptx.{how}.{mode}({parameters}) noinline strictfp {{
  call void @llvm.set.rounding(i32 {number}) strictfp
  %result = call double @{intrinsic}({parameters}, metadata !"round.dynamic", \
metadata !"fpexcept.strict") strictfp
  call void @llvm.set.rounding(i32 1) strictfp
  ret double %result
}}"""


def rounding(modifiers: Collection[str]) -> str:
    """Return the rounding mode among modifiers: to nearest, ties to even, if none is."""
    return next((mode for mode in MODES if mode in modifiers), "rn")


def arithmetic(text: Text, how: str, kind: str, modifiers: Collection[str], values: Sequence[str]) -> str:
    """Return the result of `how.modifiers.kind`.

    What PTX calls approximate is as exact here as the host's library, then rounded to nearest.
    """
    if kind.endswith("x2"):
        return by_halves(text, kind, values, lambda half, each: arithmetic(text, how, half, modifiers, each))
    if how == "copysign":
        return _with_sign(text, kind, values[1], values[0])
    if "ftz" in modifiers:
        values = [flushed(text, kind, value) for value in values]
    if how in ("neg", "abs"):
        return _resigned(text, how, kind, values[0])
    if how in ("min", "max"):
        result = values[0]
        for value in values[1:]:
            result = _extreme(text, how, kind, modifiers, result, value)
        return result
    mode = rounding(modifiers)
    if kind in FLOATS and (mode == "rn" or how not in _TOWARDS_A_MODE):
        result = canonical(text, kind, clamped(text, kind, _nearest(text, how, kind, values), modifiers))
    elif kind == "f64":
        result = directed(text, how, mode, values)
    else:
        result = _rounded_once(text, how, kind, mode, modifiers, values)
    return flushed(text, kind, result) if "ftz" in modifiers else result


def _nearest(text: Text, how: str, kind: str, values: Sequence[str]) -> str:
    """Return the result in float or double arithmetic, rounded to nearest."""
    mine = FLOATS[kind]
    if how in ("add", "sub", "mul", "div"):
        return text.new(f"f{how} {mine} {values[0]}, {values[1]}")
    if how == "fma":
        return text.intrinsic("fma", mine, *values)
    if how == "tanh":
        return text.call("tanhf", mine, f"{mine} {values[0]}")
    value = text.intrinsic(_FUNCTIONS[how], mine, values[0]) if how != "rcp" else values[0]
    return text.new(f"fdiv {mine} 1.0, {value}") if how in ("rcp", "rsqrt") else value


def _rounded_once(
    text: Text, how: str, kind: str, mode: str, modifiers: Collection[str], values: Sequence[str]
) -> str:
    """Return the result in double arithmetic, rounded to odd, then to its format."""
    if how in _TOWARDS_A_MODE:
        result = _odd(text, how, mode, [as_double(text, kind, value) for value in values])
    else:  # an approximation
        single = _nearest(text, how, "f32", [widened(text, kind, value) for value in values])
        result = text.new(f"fpext float {single} to double")
    return narrowed(text, kind, clamped(text, "f64", result, modifiers), mode)


def _odd(text: Text, how: str, mode: str, values: Sequence[str]) -> str:
    """Return an exact result of values that f32 holds, rounded to odd where a double cannot hold it."""
    if how == "mul":
        return text.new(f"fmul double {values[0]}, {values[1]}")
    if how == "sub":
        return odd_sum(text, values[0], text.new(f"fneg double {values[1]}"), mode)
    if how == "add":
        return odd_sum(text, values[0], values[1], mode)
    if how == "fma":
        return odd_sum(text, text.new(f"fmul double {values[0]}, {values[1]}"), values[2], mode)
    text.declared |= _ODD
    if how == "sqrt":
        return text.new(f"call double @ptx.odd.sqrt(double {values[0]})")
    a, b = ("1.0", values[0]) if how == "rcp" else values
    return text.new(f"call double @ptx.odd.div(double {a}, double {b})")


def odd_sum(text: Text, a: str, b: str, mode: str) -> str:
    """Return a + b rounded to odd; x - x is -0 where results are rounded downwards, else 0."""
    text.declared |= _ODD
    if mode != "rm":
        return text.new(f"call double @ptx.odd.add(double {a}, double {b})")
    a, b = (text.new(f"fneg double {value}") for value in (a, b))
    return text.new(f"fneg double {text.new(f'call double @ptx.odd.add(double {a}, double {b})')}")


def directed(text: Text, how: str, mode: str, values: Sequence[str]) -> str:
    """Return the result for doubles as the processor rounds it in this mode."""
    if how == "rcp":
        how, values = "div", ["1.0", *values]
    intrinsic = f"llvm.experimental.constrained.{how if how in ('fma', 'sqrt') else 'f' + how}.f64"
    kinds = ", ".join(["double"] * len(values))
    text.declare("llvm.set.rounding", "declare void @llvm.set.rounding(i32)")
    text.declare(intrinsic, f"declare double @{intrinsic}({kinds}, metadata, metadata)")
    parameters = ", ".join(f"double %x{i}" for i in range(len(values)))
    definition = _DIRECTED.format(
        how=how, mode=mode, number=MODES[mode], parameters=parameters, intrinsic=intrinsic
    )
    text.declare(f"ptx.{how}.{mode}", definition)
    arguments = ", ".join(f"double {value}" for value in values)
    return text.new(f"call double @ptx.{how}.{mode}({arguments})")


def _resigned(text: Text, how: str, kind: str, value: str) -> str:
    """Return the negative or the magnitude, of NaN too."""
    mine, bits = f"i{FORMATS[kind].width}", bits_of(text, kind, value)
    # By bits, since arithmetic may change those of a NaN.
    if how == "abs":
        return of_bits(text, kind, magnitude(text, kind, bits))
    return of_bits(text, kind, text.new(f"xor {mine} {bits}, {1 << FORMATS[kind].width - 1}"))


def _with_sign(text: Text, kind: str, value: str, other: str) -> str:
    """Return a value with the sign of another."""
    mine = f"i{FORMATS[kind].width}"
    size = magnitude(text, kind, bits_of(text, kind, value))
    signed = text.new(f"or {mine} {size}, {sign(text, kind, bits_of(text, kind, other))}")
    return of_bits(text, kind, signed)


def _extreme(text: Text, how: str, kind: str, modifiers: Collection[str], a: str, b: str) -> str:
    """Return the lesser or greater one, -0 below 0; NaN for two NaN, with `.NaN` for one, else the number.

    With `xorsign` and `abs` magnitudes are compared, and the result has the product's sign.
    """
    of, new = FORMATS[kind], text.new
    mine = f"i{of.width}"
    x, y = bits_of(text, kind, a), bits_of(text, kind, b)
    sizes = [magnitude(text, kind, bits) for bits in (x, y)]
    x_nan, y_nan = (new(f"icmp ugt {mine} {size}, {of.beyond}") for size in sizes)
    product = sign(text, kind, new(f"xor {mine} {x}, {y}"))
    if "abs" in modifiers:
        x, y = sizes
    orders = [_order(text, kind, bits) for bits in (x, y)]
    first = new(f"icmp {'sle' if how == 'min' else 'sge'} {mine} {orders[0]}, {orders[1]}")
    chosen = new(f"select i1 {first}, {mine} {x}, {mine} {y}")
    if "NaN" in modifiers:
        is_nan = new(f"or i1 {x_nan}, {y_nan}")
    else:
        chosen = new(f"select i1 {x_nan}, {mine} {y}, {mine} {chosen}")
        chosen = new(f"select i1 {y_nan}, {mine} {x}, {mine} {chosen}")
        is_nan = new(f"and i1 {x_nan}, {y_nan}")
    if "xorsign" in modifiers:
        chosen = new(f"or {mine} {chosen}, {product}")
    return of_bits(text, kind, new(f"select i1 {is_nan}, {mine} {of.nan}, {mine} {chosen}"))


def _order(text: Text, kind: str, bits: str) -> str:
    """Return an integer that is ordered as numbers are: the bits, magnitudes inverted below zero."""
    width = FORMATS[kind].width
    spread = text.new(f"ashr i{width} {bits}, {width - 1}")
    return text.new(f"xor i{width} {bits}, {text.new(f'lshr i{width} {spread}, 1')}")


def compared(text: Text, how: str, kind: str, modifiers: Collection[str], a: str, b: str) -> str:
    """Return whether a comparison of PTX's, like "ltu", holds for two floats: an i1."""
    if "ftz" in modifiers:
        a, b = flushed(text, kind, a), flushed(text, kind, b)
    if kind not in FLOATS:
        a, b = widened(text, kind, a), widened(text, kind, b)
    # LLVM has the `u` of unordered comparisons in front, PTX behind.
    name = {"num": "ord", "nan": "uno"}.get(how) or (f"u{how[:2]}" if len(how) == 3 else f"o{how}")
    return text.new(f"fcmp {name} {FLOATS.get(kind, 'float')} {a}, {b}")


def compared_half(text: Text, how: str, modifiers: Sequence[str], a: str, b: str, half: int) -> str:
    """Return a comparison for the lower (0) or upper (1) halves of two pairs, whose type ends `modifiers`."""
    halves = [text.new(f"trunc i32 {text.new(f'lshr i32 {value}, {16 * half}')} to i16") for value in (a, b)]
    return compared(text, how, modifiers[-1].removesuffix("x2"), modifiers, *halves)

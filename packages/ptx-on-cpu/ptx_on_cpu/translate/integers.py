"""Translate arithmetic: that of integers here, that of floats by `floats`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ptx_on_cpu.syntax.program import width
from ptx_on_cpu.translate import floats
from ptx_on_cpu.translate.formulas import Formula, computes
from ptx_on_cpu.translate.function import CARRY, Translation

FLOAT_KINDS: Final = ("f16", "bf16", "f16x2", "bf16x2", "f32", "f64")
_WITH_CARRY: Final = ("addc", "subc", "madc")
# What an instruction may say beside its type. Later versions of PTX say more, such as that an operand has a
# type of its own (`add.f32.f16`).
_SAID_OF_INTEGERS: Final = frozenset(("lo", "hi", "wide", "cc", "sat", "relu"))
_SAID_OF_FLOATS: Final = frozenset(
    ("rn", "rz", "rm", "rp", "approx", "full", "ftz", "sat", "relu", "NaN", "xorsign", "abs")
)


@computes("sqrt", "rsqrt", "ex2", "lg2", "sin", "cos", "rcp", "tanh", "copysign")
def _floats(t: Translation, kind: str, *values: str) -> str:
    if not _SAID_OF_FLOATS.issuperset(t.modifiers[:-1]):
        raise t.refused()
    how = {"mad": "fma"}.get(t.name, t.name)
    return floats.arithmetic(t.text, how, kind, t.modifiers, values)


def _arithmetic(*names: str, of: str = "kind", into: str = "kind") -> Callable[[Formula], Formula]:
    """Register the function that computes instructions of these names for integers; floats have one."""

    def register(of_integers: Formula) -> Formula:
        def formula(t: Translation, kind: str, *values: str) -> str:
            if kind in FLOAT_KINDS:
                return _floats(t, kind, *values)
            if not _SAID_OF_INTEGERS.issuperset(t.modifiers[:-1]) or ("sat" in t.modifiers and kind != "s32"):
                raise t.refused()
            return of_integers(t, kind, *values)

        return computes(*names, of=of, into=into)(formula)

    return register


@_arithmetic("add", "sub", "addc", "subc")
def _sum(t: Translation, kind: str, a: str, b: str) -> str:
    how = t.name.removesuffix("c")
    if kind in ("u16x2", "s16x2"):
        return _whole(t, t.text.new(f"{how} <2 x i16> {_halves(t, a)}, {_halves(t, b)}"))
    return _added(t, how, width(kind), a, b)


def _halves(t: Translation, value: str) -> str:
    """Return the two numbers of 16 bits in one of 32 as a vector."""
    return t.text.new(f"bitcast i32 {value} to <2 x i16>")


def _whole(t: Translation, halves: str) -> str:
    """Return two numbers of 16 bits in one of 32."""
    return t.text.new(f"bitcast <2 x i16> {halves} to i32")


def _added(t: Translation, how: str, bits: int, a: str, b: str) -> str:
    """Return a sum or difference: saturated, with the carry from before, or keeping it, as modifiers ask."""
    with_carry = t.name in _WITH_CARRY
    if not with_carry and "cc" not in t.modifiers:
        if "sat" in t.modifiers:
            # PTX saturates sums of s32 alone.
            return t.text.intrinsic(f"s{how}.sat", "i32", a, b)
        return t.text.new(f"{how} i{bits} {a}, {b}")
    wide = 2 * bits
    x, y = (t.text.resized(value, bits, wide) for value in (a, b))
    total = t.text.new(f"{how} i{wide} {x}, {y}")
    if with_carry:
        carry = t.text.resized(t.get(CARRY, "pred") if CARRY in t.function.registers else "false", 1, wide)
        total = t.text.new(f"{how} i{wide} {total}, {carry}")
    if "cc" in t.modifiers:
        # The bit above the result: a carry or, of a difference, a borrow.
        over = t.text.new(f"lshr i{wide} {total}, {bits}")
        t.set(CARRY, t.text.resized(over, wide, 1), "pred")
    return t.text.resized(total, wide, bits)


@_arithmetic("mul", into="wide")
def _multiply(t: Translation, kind: str, a: str, b: str) -> str:
    """Return the low half, the high half or the whole of a product."""
    bits, is_signed = width(kind), kind[0] == "s"
    if "lo" in t.modifiers:
        return t.text.new(f"mul i{bits} {a}, {b}")
    x, y = (t.text.resized(value, bits, 2 * bits, is_signed) for value in (a, b))
    whole = t.text.new(f"mul i{2 * bits} {x}, {y}")
    if "wide" in t.modifiers:
        return whole
    return t.text.resized(t.text.new(f"lshr i{2 * bits} {whole}, {bits}"), 2 * bits, bits)


@_arithmetic("mad", "fma", "madc", of="kind kind wide", into="wide")
def _multiply_add(t: Translation, kind: str, a: str, b: str, c: str) -> str:
    bits = width(kind) << ("wide" in t.modifiers)
    return _added(t, "add", bits, _multiply(t, kind, a, b), c)


@computes("mul24", "mad24")
def _multiply_24_bits(t: Translation, kind: str, a: str, b: str, *c: str) -> str:
    how, new = "ashr" if kind == "s32" else "lshr", t.text.new
    low = (new(f"{how} i32 {new(f'shl i32 {value}, 8')}, 8") for value in (a, b))
    x, y = (t.text.resized(value, 32, 64, kind == "s32") for value in low)
    whole = new(f"mul i64 {x}, {y}")
    # `.hi` are the upper 32 of the product's 48 bits.
    value = t.text.resized(new(f"lshr i64 {whole}, {16 if 'hi' in t.modifiers else 0}"), 64, 32)
    return _added(t, "add", 32, value, *c) if c else value


@computes("sad")
def _absolute_difference(t: Translation, kind: str, a: str, b: str, c: str) -> str:
    mine = f"i{width(kind)}"
    greater = t.text.new(f"icmp {kind[0]}gt {mine} {a}, {b}")
    forward, backward = (t.text.new(f"sub {mine} {x}, {y}") for x, y in ((a, b), (b, a)))
    return t.text.new(
        f"add {mine} {c}, {t.text.new(f'select i1 {greater}, {mine} {forward}, {mine} {backward}')}"
    )


@_arithmetic("div", "rem")
def _divide(t: Translation, kind: str, a: str, b: str) -> str:
    """Divide; where a processor would trap and a GPU gives any number, x / 0 is -1, and x % 0 is x."""
    how, new, mine, is_signed = t.name, t.text.new, f"i{width(kind)}", kind[0] == "s"
    is_zero = new(f"icmp eq {mine} {b}, 0")
    divisor = new(f"select i1 {is_zero}, {mine} 1, {mine} {b}")
    is_minus_one = "false"
    if is_signed:  # the least number / -1 overflows
        is_minus_one = new(f"icmp eq {mine} {b}, -1")
        divisor = new(f"select i1 {is_minus_one}, {mine} 1, {mine} {divisor}")
    value = new(f"{'s' if is_signed else 'u'}{how} {mine} {a}, {divisor}")
    if is_signed and how == "div":
        value = new(f"select i1 {is_minus_one}, {mine} {new(f'sub {mine} 0, {a}')}, {mine} {value}")
    return new(f"select i1 {is_zero}, {mine} {'-1' if how == 'div' else a}, {mine} {value}")


@_arithmetic("min", "max")
def _least_or_greatest(t: Translation, kind: str, a: str, b: str) -> str:
    name = f"{'s' if kind[0] == 's' else 'u'}{t.name}"
    if not kind.endswith("x2"):
        value = t.text.intrinsic(name, f"i{width(kind)}", a, b)
        return t.text.intrinsic("smax", f"i{width(kind)}", value, "0") if "relu" in t.modifiers else value
    vectors = [f"<2 x i16> {_halves(t, value)}" for value in (a, b)]
    result = t.text.call(f"llvm.{name}.v2i16", "<2 x i16>", *vectors)
    if "relu" in t.modifiers:
        none = "<2 x i16> zeroinitializer"
        result = t.text.call("llvm.smax.v2i16", "<2 x i16>", f"<2 x i16> {result}", none)
    return _whole(t, result)


@_arithmetic("abs")
def _magnitude(t: Translation, kind: str, a: str) -> str:
    return t.text.intrinsic("abs", f"i{width(kind)}", a, more=["i1 false"])


@_arithmetic("neg")
def _negative(t: Translation, kind: str, a: str) -> str:
    return t.text.new(f"sub i{width(kind)} 0, {a}")


@computes("dp4a", "dp2a", of="b32", into="b32")
def _dot_product(t: Translation, kind: str, a: str, b: str, total: str) -> str:
    """Add products of 4 bytes with 4 bytes, or of 2 halves with 2 bytes, to the third operand."""
    count = 4 if t.name == "dp4a" else 2
    # `dp2a` takes the lower or the upper two bytes of the second operand.
    first = 2 if "hi" in t.modifiers else 0
    for i in range(count):
        x = _field(t, a, i * 32 // count, 32 // count, t.modifiers[-2])
        y = _field(t, b, 8 * (first + i), 8, kind)
        total = t.text.new(f"add i32 {total}, {t.text.new(f'mul i32 {x}, {y}')}")
    return total


def _field(t: Translation, value: str, at: int, bits: int, kind: str) -> str:
    """Return some bits of a number of 32 bits, as one of this type."""
    high = t.text.new(f"shl i32 {value}, {32 - bits - at}")
    return t.text.new(f"{'ashr' if kind[0] == 's' else 'lshr'} i32 {high}, {32 - bits}")

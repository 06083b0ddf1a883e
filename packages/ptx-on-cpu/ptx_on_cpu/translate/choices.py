"""Translate moves, comparisons, selections and conversions."""

from collections.abc import Sequence
from typing import Final

from ptx_on_cpu.syntax.program import width
from ptx_on_cpu.translate import conversions, floats
from ptx_on_cpu.translate.formats import packed
from ptx_on_cpu.translate.formulas import computes
from ptx_on_cpu.translate.function import Translation, emits
from ptx_on_cpu.translate.integers import FLOAT_KINDS
from ptx_on_cpu.translate.text import llvm_type

# PTX has words of its own for unsigned comparisons.
_UNSIGNED: Final = {"lo": "ult", "ls": "ule", "hi": "ugt", "hs": "uge"}


@computes("mov", of="bits", into="bits")
def _move(t: Translation, kind: str, value: str) -> str:
    return value


def compared(t: Translation, how: str, modifiers: list[str], a: str, b: str) -> str:
    """Return whether a comparison holds for two operands of the last type of `modifiers`."""
    kind = modifiers[-1]
    x, y = t.get(a, kind), t.get(b, kind)
    if kind in FLOAT_KINDS:
        return floats.compared(t.text, how, kind, modifiers, x, y)
    sign = "s" if kind[0] == "s" else "u"
    name = how if how in ("eq", "ne") else _UNSIGNED.get(how) or sign + how
    return t.text.new(f"icmp {name} i{width(kind)} {x}, {y}")


@emits("setp")
def _set_predicate(t: Translation, modifiers: list[str], operands: Sequence[str]) -> None:
    first, _, second = operands[0].partition("|")
    if modifiers[-1] in ("f16x2", "bf16x2"):
        a, b = (t.get(operand, "b32") for operand in operands[1:3])
        values = [floats.compared_half(t.text, modifiers[0], modifiers, a, b, i) for i in (0, 1)]
    else:
        value = compared(t, modifiers[0], modifiers, operands[1], operands[2])
        values = [value, t.text.new(f"xor i1 {value}, true")]
    # Both before either is written: the fourth operand may be one of the two.
    values = [_combined(t, value, modifiers, operands) for value in values]
    for target, value in zip((first, second or "_"), values, strict=True):
        t.set(target, value, "pred")


def _combined(t: Translation, value: str, modifiers: list[str], operands: Sequence[str]) -> str:
    """Return a comparison's result combined with the fourth operand, where there is one."""
    if len(operands) < 4:
        return value
    how = next(modifier for modifier in modifiers if modifier in ("and", "or", "xor"))
    return t.text.new(f"{how} i1 {value}, {t.get(operands[3], 'pred')}")


@emits("set")
def _set_value(t: Translation, modifiers: list[str], operands: Sequence[str]) -> None:
    into = modifiers[-2]
    if modifiers[-1] in ("f16x2", "bf16x2"):
        _set_pair(t, modifiers, operands)
        return
    value = _combined(t, compared(t, modifiers[0], modifiers, operands[1], operands[2]), modifiers, operands)
    if into == "f32":
        t.set(operands[0], t.text.new(f"select i1 {value}, float 1.0, float 0.0"), into)
    elif into in FLOAT_KINDS:
        # The bits of 1.0.
        one = {"f16": 0x3C00, "bf16": 0x3F80}[into]
        t.set(operands[0], t.text.new(f"select i1 {value}, i16 {one}, i16 0"), into)
    else:
        t.set(operands[0], t.text.resized(value, 1, width(into), is_signed=True), into)


def _set_pair(t: Translation, modifiers: list[str], operands: Sequence[str]) -> None:
    """Compare both halves: 1 where the result is a pair of floats, else ones in all bits of a half."""
    yes = {"f16x2": 0x3C00, "bf16x2": 0x3F80}.get(modifiers[-2], -1)
    a, b = (t.get(x, "b32") for x in operands[1:3])
    low, high = (
        _combined(t, floats.compared_half(t.text, modifiers[0], modifiers, a, b, i), modifiers, operands)
        for i in (0, 1)
    )
    # Upper half first, as `packed` takes them.
    halves = [t.text.new(f"select i1 {holds}, i16 {yes}, i16 0") for holds in (high, low)]
    t.set(operands[0], packed(t.text, modifiers[-1], *halves), "b32")


@computes("selp", of="bits bits pred", into="bits")
def _select(t: Translation, kind: str, a: str, b: str, chosen: str) -> str:
    return t.text.new(f"select i1 {chosen}, i{width(kind)} {a}, i{width(kind)} {b}")


@emits("slct")
def _select_by_sign(t: Translation, modifiers: list[str], operands: Sequence[str]) -> None:
    kind, sign = f"b{width(modifiers[-2])}", modifiers[-1]
    a, b, c = t.get(operands[1], kind), t.get(operands[2], kind), t.get(operands[3], sign)
    if sign == "f32":
        chosen = floats.compared(t.text, "ge", sign, modifiers, c, "0.0")
    else:
        chosen = t.text.new(f"icmp sge i32 {c}, 0")
    t.set(operands[0], _select(t, kind, a, b, chosen), kind)


@computes("testp", into="pred")
def _test(t: Translation, kind: str, value: str) -> str:
    # Sums of the bits that `llvm.is.fpclass` has for classes of floats.
    classes = {
        "finite": 504,
        "infinite": 516,
        "number": 1020,
        "notanumber": 3,
        "normal": 360,  # zeros among them
        "subnormal": 144,
    }
    typed = f"{llvm_type(kind, width(kind))} {value}"
    return t.text.call(f"llvm.is.fpclass.{kind}", "i1", typed, f"i32 {classes[t.modifiers[0]]}")


@emits("cvt")
def _convert(t: Translation, modifiers: list[str], operands: Sequence[str]) -> None:
    into, source = modifiers[-2:]
    if not {"rs", "scaled_n2_ue8m0"}.isdisjoint(modifiers):  # random bits, or a scale, as another operand
        raise t.refused()
    if "pack" in modifiers or (into not in FLOAT_KINDS and source not in FLOAT_KINDS and len(operands) == 2):
        _convert_integers(t, modifiers, operands)
        return
    values = [t.get(operand, source) for operand in operands[1:]]
    t.set(operands[0], conversions.converted(t.text, into, source, modifiers, values), into)


def _convert_integers(t: Translation, modifiers: list[str], operands: Sequence[str]) -> None:
    if "pack" in modifiers:  # cvt.pack.sat.u8.s32.b32 d, a, b, c
        into, source = modifiers[2], modifiers[3]
        bits = width(into)
        a, b = (_clamped(t, t.get(operand, source), source, into) for operand in operands[1:3])
        low, high = (t.text.resized(t.text.resized(x, 32, bits), bits, 32) for x in (b, a))
        total = t.text.new(f"or i32 {low}, {t.text.new(f'shl i32 {high}, {bits}')}")
        if len(operands) > 3:
            rest = t.text.new(f"shl i32 {t.get(operands[3], 'b32')}, {2 * bits}") if bits < 16 else "0"
            total = t.text.new(f"or i32 {total}, {rest}")
        t.set(operands[0], total, "b32")
        return
    into, source = modifiers[-2:]
    value = t.get(operands[1], source)
    if "sat" in modifiers:
        value = _clamped(t, value, source, into)
    t.set(operands[0], t.text.resized(value, width(source), width(into), source[0] == "s"), into)


def _clamped(t: Translation, value: str, source: str, into: str) -> str:
    """Return an integer clamped to the range of another type."""
    bits, mine, sign = width(into), f"i{width(source)}", source[0]
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if into[0] == "s" else (0, (1 << bits) - 1)
    if width(source) > bits or source[0] != into[0]:
        top = (1 << width(source) - (sign == "s")) - 1
        bottom = -(1 << width(source) - 1)
        value = t.text.intrinsic(f"{sign}min", mine, value, str(min(high, top)))
        if sign == "s":
            value = t.text.intrinsic("smax", mine, value, str(max(low, bottom)))
    return value

"""Translate arithmetic: that of integers here, that of floats by `floats`."""

from collections.abc import Callable, Sequence
from typing import Final

from ptx_on_cpu.syntax.program import width
from ptx_on_cpu.translate import floats
from ptx_on_cpu.translate.function import Emitter, Translation, emits

FLOAT_KINDS: Final = ("f16", "bf16", "f16x2", "bf16x2", "f32", "f64")


@emits("sqrt", "rsqrt", "ex2", "lg2", "sin", "cos", "rcp", "tanh", "copysign")
def _floats(t: Translation, parts: list[str], operands: Sequence[str]) -> None:
    kind, how = parts[-1], {"mad": "fma"}.get(t.name, t.name)
    values = [t.get(operand, kind) for operand in operands[1:]]
    t.set(operands[0], floats.arithmetic(t.text, how, kind, parts, values), kind)


def emits_arithmetic(*names: str) -> Callable[[Emitter], Emitter]:
    """Register the function that translates instructions of these names for integers; floats have one."""

    def register(of_integers: Emitter) -> Emitter:
        @emits(*names)
        def emitter(t: Translation, parts: list[str], operands: Sequence[str]) -> None:
            (_floats if parts[-1] in FLOAT_KINDS else of_integers)(t, parts, operands)

        return emitter

    return register


@emits_arithmetic("add", "sub")
def _sum(t: Translation, parts: list[str], operands: Sequence[str]) -> None:
    how, kind = t.name, parts[-1]
    a, b = (t.get(operand, kind) for operand in operands[1:])
    if "cc" in parts:
        _carried(t, parts, operands[0], a, b, with_carry=False, minus=how == "sub")
    elif kind in ("u16x2", "s16x2"):
        x, y = _halves(t, a), _halves(t, b)
        t.set(operands[0], _whole(t, t.text.new(f"{how} <2 x i16> {x}, {y}")), "b32")
    elif "sat" in parts:
        t.set(operands[0], t.text.intrinsic(f"s{how}.sat", "i32", a, b), kind)
    else:
        t.set(operands[0], t.text.new(f"{how} i{width(kind)} {a}, {b}"), kind)


def _halves(t: Translation, value: str) -> str:
    """Return the two numbers of 16 bits in one of 32 as a vector."""
    return t.text.new(f"bitcast i32 {value} to <2 x i16>")


def _whole(t: Translation, halves: str) -> str:
    """Return two numbers of 16 bits in one of 32."""
    return t.text.new(f"bitcast <2 x i16> {halves} to i32")


@emits("addc", "subc")
def _sum_with_carry(t: Translation, parts: list[str], operands: Sequence[str]) -> None:
    a, b = (t.get(operand, parts[-1]) for operand in operands[1:])
    minus = t.name == "subc"
    _carried(t, parts, operands[0], a, b, with_carry=True, minus=minus)


def _carried(
    t: Translation, parts: list[str], target: str, a: str, b: str, *, with_carry: bool, minus: bool = False
) -> None:
    """Add or subtract, `with_carry` from the instruction before; keep the new one where parts have `cc`."""
    kind, bits = parts[-1], width(parts[-1])
    wide, how = 2 * bits, "sub" if minus else "add"
    x, y = (t.text.resized(value, bits, wide) for value in (a, b))
    total = t.text.new(f"{how} i{wide} {x}, {y}")
    if with_carry:
        carry = t.text.resized(t.text.new("load i1, ptr %cc"), 1, wide)
        total = t.text.new(f"{how} i{wide} {total}, {carry}")
    if "cc" in parts:
        over = t.text.new(f"lshr i{wide} {total}, {bits}")
        t.text.do(f"store i1 {t.text.resized(over, wide, 1)}, ptr %cc")
    t.set(target, t.text.resized(total, wide, bits), kind)


def _product(t: Translation, parts: list[str], a: str, b: str) -> tuple[str, str]:
    """Return the low half, the high half or the whole of a product, and its type."""
    kind = parts[-1]
    bits, is_signed = width(kind), kind[0] == "s"
    if "lo" in parts:
        return t.text.new(f"mul i{bits} {t.get(a, kind)}, {t.get(b, kind)}"), kind
    x, y = (t.text.resized(t.get(operand, kind), bits, 2 * bits, is_signed) for operand in (a, b))
    whole = t.text.new(f"mul i{2 * bits} {x}, {y}")
    if "wide" in parts:
        return whole, f"{kind[0]}{2 * bits}"
    return t.text.resized(t.text.new(f"lshr i{2 * bits} {whole}, {bits}"), 2 * bits, bits), kind


@emits_arithmetic("mul")
def _multiply(t: Translation, parts: list[str], operands: Sequence[str]) -> None:
    t.set(operands[0], *_product(t, parts, operands[1], operands[2]))


@emits_arithmetic("mad", "fma", "madc")
def _multiply_add(t: Translation, parts: list[str], operands: Sequence[str]) -> None:
    value, kind = _product(t, parts, operands[1], operands[2])
    other = t.get(operands[3], kind)
    with_carry = t.name == "madc"
    if with_carry or "cc" in parts:
        _carried(t, parts, operands[0], value, other, with_carry=with_carry)
    elif "sat" in parts:
        t.set(operands[0], t.text.intrinsic("sadd.sat", "i32", value, other), kind)
    else:
        t.set(operands[0], t.text.new(f"add i{width(kind)} {value}, {other}"), kind)


@emits("mul24", "mad24")
def _multiply_24_bits(t: Translation, parts: list[str], operands: Sequence[str]) -> None:
    kind, how = parts[-1], "ashr" if parts[-1] == "s32" else "lshr"
    x, y = (
        t.text.resized(
            t.text.new(f"{how} i32 {t.text.new(f'shl i32 {t.get(o, kind)}, 8')}, 8"), 32, 64, kind == "s32"
        )
        for o in operands[1:3]
    )
    whole = t.text.new(f"mul i64 {x}, {y}")
    value = t.text.resized(t.text.new(f"lshr i64 {whole}, {16 if 'hi' in parts else 0}"), 64, 32)
    if len(operands) > 3:
        if "sat" in parts:
            value = t.text.intrinsic("sadd.sat", "i32", value, t.get(operands[3], kind))
        else:
            value = t.text.new(f"add i32 {value}, {t.get(operands[3], kind)}")
    t.set(operands[0], value, kind)


@emits("sad")
def _absolute_difference(t: Translation, parts: list[str], operands: Sequence[str]) -> None:
    kind, bits = parts[-1], width(parts[-1])
    a, b, c = (t.get(operand, kind) for operand in operands[1:])
    greater = t.text.new(f"icmp {kind[0]}gt i{bits} {a}, {b}")
    one, other = (t.text.new(f"sub i{bits} {x}, {y}") for x, y in ((a, b), (b, a)))
    value = t.text.new(f"select i1 {greater}, i{bits} {one}, i{bits} {other}")
    t.set(operands[0], t.text.new(f"add i{bits} {c}, {value}"), kind)


@emits_arithmetic("div", "rem")
def _divide(t: Translation, parts: list[str], operands: Sequence[str]) -> None:
    """Divide; where a processor would trap and a GPU gives any number, x / 0 is -1, and x % 0 is x."""
    how, kind = t.name, parts[-1]
    new, mine, is_signed = t.text.new, f"i{width(kind)}", kind[0] == "s"
    a, b = (t.get(operand, kind) for operand in operands[1:])
    is_zero = new(f"icmp eq {mine} {b}, 0")
    divisor = new(f"select i1 {is_zero}, {mine} 1, {mine} {b}")
    is_minus_one = "false"
    if is_signed:  # the least number / -1 overflows
        is_minus_one = new(f"icmp eq {mine} {b}, -1")
        divisor = new(f"select i1 {is_minus_one}, {mine} 1, {mine} {divisor}")
    value = new(f"{'s' if is_signed else 'u'}{how} {mine} {a}, {divisor}")
    if is_signed and how == "div":
        value = new(f"select i1 {is_minus_one}, {mine} {new(f'sub {mine} 0, {a}')}, {mine} {value}")
    value = new(f"select i1 {is_zero}, {mine} {'-1' if how == 'div' else a}, {mine} {value}")
    t.set(operands[0], value, kind)


@emits_arithmetic("min", "max")
def _least_or_greatest(t: Translation, parts: list[str], operands: Sequence[str]) -> None:
    how, kind = t.name, parts[-1]
    a, b = (t.get(operand, kind) for operand in operands[1:])
    name = f"{'s' if kind[0] == 's' else 'u'}{how}"
    if kind.endswith("x2"):
        vectors = [f"<2 x i16> {_halves(t, value)}" for value in (a, b)]
        found = t.text.call(f"llvm.{name}.v2i16", "<2 x i16>", *vectors)
        if "relu" in parts:
            none = "<2 x i16> zeroinitializer"
            found = t.text.call("llvm.smax.v2i16", "<2 x i16>", f"<2 x i16> {found}", none)
        t.set(operands[0], _whole(t, found), "b32")
        return
    value = t.text.intrinsic(name, f"i{width(kind)}", a, b)
    if "relu" in parts:
        value = t.text.intrinsic("smax", f"i{width(kind)}", value, "0")
    t.set(operands[0], value, kind)


@emits_arithmetic("abs", "neg")
def _sign(t: Translation, parts: list[str], operands: Sequence[str]) -> None:
    how, kind = t.name, parts[-1]
    value, mine = t.get(operands[1], kind), f"i{width(kind)}"
    if how == "abs":
        found = t.text.intrinsic("abs", mine, value, more=["i1 false"])
    else:
        found = t.text.new(f"sub {mine} 0, {value}")
    t.set(operands[0], found, kind)


@emits("dp4a", "dp2a")
def _dot_product(t: Translation, parts: list[str], operands: Sequence[str]) -> None:
    """Add products of 4 bytes with 4 bytes, or of 2 halves with 2 bytes, to the third operand."""
    a_kind, b_kind = parts[-2:]
    a, b, total = (t.get(operand, "b32") for operand in operands[1:])
    count = 4 if t.name == "dp4a" else 2
    first = 2 if "hi" in parts else 0
    for i in range(count):
        x = _field(t, a, i * 32 // count, 32 // count, a_kind)
        y = _field(t, b, 8 * (first + i), 8, b_kind)
        total = t.text.new(f"add i32 {total}, {t.text.new(f'mul i32 {x}, {y}')}")
    t.set(operands[0], total, "b32")


def _field(t: Translation, value: str, at: int, bits: int, kind: str) -> str:
    """Return some bits of a number of 32 bits, as one of this type."""
    high = t.text.new(f"shl i32 {value}, {32 - bits - at}")
    return t.text.new(f"{'ashr' if kind[0] == 's' else 'lshr'} i32 {high}, {32 - bits}")

"""Translate operations on bits: logic, shifts, fields, permutations."""

from collections.abc import Sequence

from ptx_on_cpu.syntax.program import width
from ptx_on_cpu.translate.formulas import computes
from ptx_on_cpu.translate.function import Translation, emits


@computes("and", "or", "xor")
def _logic(t: Translation, kind: str, a: str, b: str) -> str:
    return t.text.new(f"{t.name} i{width(kind)} {a}, {b}")


@computes("not")
def _not(t: Translation, kind: str, a: str) -> str:
    return t.text.new(f"xor i{width(kind)} {a}, -1")


@computes("cnot")
def _is_zero(t: Translation, kind: str, a: str) -> str:
    return t.text.resized(t.text.new(f"icmp eq i{width(kind)} {a}, 0"), 1, width(kind))


def shifted(t: Translation, how: str, bits: int, value: str, amount: str) -> str:
    """Return a value shifted as PTX does, where an amount beyond the width counts as the width."""
    mine = f"i{bits}"
    beyond = t.text.new(f"icmp uge {mine} {amount}, {bits}")
    if how == "ashr":
        most = t.text.new(f"select i1 {beyond}, {mine} {bits - 1}, {mine} {amount}")
        return t.text.new(f"ashr {mine} {value}, {most}")
    safe = t.text.new(f"select i1 {beyond}, {mine} 0, {mine} {amount}")
    result = t.text.new(f"{how} {mine} {value}, {safe}")
    return t.text.new(f"select i1 {beyond}, {mine} 0, {mine} {result}")


@computes("shl", "shr", of="kind u32")
def _shift(t: Translation, kind: str, value: str, by: str) -> str:
    bits, how = width(kind), t.name if t.name == "shl" else "ashr" if kind[0] == "s" else "lshr"
    # Before it gets the width of the value, in which a large one might be small.
    amount = t.text.intrinsic("umin", "i32", by, str(bits))
    return shifted(t, how, bits, value, t.text.resized(amount, 32, bits))


@computes("shf", of="b32")
def _funnel_shift(t: Translation, kind: str, a: str, b: str, c: str) -> str:
    if "clamp" in t.modifiers:
        c = t.text.intrinsic("umin", "i32", c, "32")
    else:
        c = t.text.new(f"and i32 {c}, 31")
    low, high, by = (t.text.resized(x, 32, 64) for x in (a, b, c))
    # In 64 bits, since an amount may be 32.
    both = t.text.new(f"or i64 {t.text.new(f'shl i64 {high}, 32')}, {low}")
    is_left = "l" in t.modifiers
    value = t.text.new(f"{'shl' if is_left else 'lshr'} i64 {both}, {by}")
    return t.text.resized(t.text.new(f"lshr i64 {value}, 32") if is_left else value, 64, 32)


def _ones(t: Translation, length: str, bits: int) -> str:
    """Return a number whose lowest `length` bits are ones."""
    return t.text.new(f"xor i{bits} {shifted(t, 'shl', bits, '-1', length)}, -1")


@computes("bfi", of="kind kind b32")
def _insert(t: Translation, kind: str, a: str, b: str, *field: str) -> str:
    bits = width(kind)
    at, length = (_byte(t, value, bits) for value in field)
    mask = _ones(t, length, bits)
    hole = t.text.new(f"xor i{bits} {shifted(t, 'shl', bits, mask, at)}, -1")
    put = shifted(t, "shl", bits, t.text.new(f"and i{bits} {a}, {mask}"), at)
    return t.text.new(f"or i{bits} {t.text.new(f'and i{bits} {b}, {hole}')}, {put}")


@computes("bfe", of="kind b32")
def _extract(t: Translation, kind: str, a: str, *field: str) -> str:
    bits, is_signed = width(kind), kind[0] == "s"
    at, length = (_byte(t, value, bits) for value in field)
    value = shifted(t, "ashr" if is_signed else "lshr", bits, a, at)
    value = t.text.new(f"and i{bits} {value}, {_ones(t, length, bits)}")
    if not is_signed:
        return value
    # A field that is longer than the register ends with it.
    unused = t.text.intrinsic("usub.sat", f"i{bits}", str(bits), length)
    return shifted(t, "ashr", bits, shifted(t, "shl", bits, value, unused), unused)


def _byte(t: Translation, value: str, bits: int) -> str:
    """Return the lowest byte of an operand."""
    return t.text.resized(t.text.new(f"and i32 {value}, 255"), 32, bits)


@computes("bmsk", of="u32")
def _mask(t: Translation, kind: str, a: str, b: str) -> str:
    """Return `b` ones from bit `a` on; with `wrap`, both modulo 32."""
    if "wrap" in t.modifiers:
        a, b = (t.text.new(f"and i32 {x}, 31") for x in (a, b))
    return shifted(t, "shl", 32, _ones(t, b, 32), a)


@computes("szext", of="u32")
def _extend(t: Translation, kind: str, value: str, b: str) -> str:
    """Return the lowest `b` bits, with their sign or with zeros above."""
    b = t.text.new(f"and i32 {b}, 31") if "wrap" in t.modifiers else t.text.intrinsic("umin", "i32", b, "32")
    unused = t.text.new(f"sub i32 32, {b}")
    how = "ashr" if kind[0] == "s" else "lshr"
    result = shifted(t, how, 32, shifted(t, "shl", 32, value, unused), unused)
    nothing = t.text.new(f"icmp eq i32 {b}, 0")
    return t.text.new(f"select i1 {nothing}, i32 0, i32 {result}")


@computes("prmt", of="b32", into="b32")
def _permute(t: Translation, mode: str, a: str, b: str, chosen: str) -> str:
    new, total = t.text.new, "0"
    both = new(f"or i64 {new(f'shl i64 {t.text.resized(b, 32, 64)}, 32')}, {t.text.resized(a, 32, 64)}")
    for i in range(4):
        which = _chosen_byte(t, mode, chosen, i)
        by = t.text.resized(new(f"shl i32 {new(f'and i32 {which}, 7')}, 3"), 32, 64)
        byte = t.text.resized(new(f"lshr i64 {both}, {by}"), 64, 8)
        is_sign = new(f"icmp ne i32 {new(f'and i32 {which}, 8')}, 0")
        byte = new(f"select i1 {is_sign}, i8 {new(f'ashr i8 {byte}, 7')}, i8 {byte}")
        total = new(f"or i32 {total}, {new(f'shl i32 {t.text.resized(byte, 8, 32)}, {8 * i}')}")
    return total


def _chosen_byte(t: Translation, mode: str, chosen: str, i: int) -> str:
    """Return which byte of both operands goes to byte i; its bit 3 asks for copies of the sign."""
    new = t.text.new
    if mode == "b32":
        return new(f"and i32 {new(f'lshr i32 {chosen}, {4 * i}')}, 15")
    at = new(f"and i32 {chosen}, 3")
    if mode == "f4e":
        return new(f"add i32 {at}, {i}")
    if mode == "b4e":
        return new(f"and i32 {new(f'sub i32 {at}, {i}')}, 7")
    if mode == "rc8":
        return at
    if mode in ("ecl", "ecr"):
        return t.text.intrinsic("umax" if mode == "ecl" else "umin", "i32", at, str(i))
    half = new(f"shl i32 {new(f'and i32 {at}, 1')}, 1")
    return new(f"or i32 {half}, {i & 1}")  # rc16


@emits("lop3")
def _logic_of_three(t: Translation, modifiers: list[str], operands: Sequence[str]) -> None:
    values, table, total = [t.get(x, "b32") for x in operands[1:4]], int(operands[4], 0), "0"
    # Bit i of the table is the result where a, b, c are the digits of i.
    for i in (i for i in range(8) if table >> i & 1):
        term = "-1"
        for j, value in enumerate(values):
            side = value if i >> (2 - j) & 1 else t.text.new(f"xor i32 {value}, -1")
            term = t.text.new(f"and i32 {term}, {side}")
        total = t.text.new(f"or i32 {total}, {term}")
    target, _, predicate = operands[0].partition("|")
    t.set(target, total, "b32")
    if predicate:  # lop3.or.b32 d|p, a, b, c, table, q
        is_some = t.text.new(f"icmp ne i32 {total}, 0")
        result = t.text.new(f"{modifiers[0]} i1 {is_some}, {t.get(operands[5], 'pred')}")
        t.set(predicate, result, "pred")


@computes("popc", "clz", into="b32")
def _count(t: Translation, kind: str, a: str) -> str:
    name, more = ("ctlz", ["i1 false"]) if t.name == "clz" else ("ctpop", [])
    return t.text.resized(t.text.intrinsic(name, f"i{width(kind)}", a, more=more), width(kind), 32)


@computes("brev")
def _reversed(t: Translation, kind: str, a: str) -> str:
    return t.text.intrinsic("bitreverse", f"i{width(kind)}", a)


@computes("bfind", into="b32")
def _highest_bit(t: Translation, kind: str, value: str) -> str:
    """Return the highest bit that is not the sign; `shiftamt`: how far it is from the top; else -1."""
    bits = width(kind)
    if kind[0] == "s":
        sign = t.text.new(f"ashr i{bits} {value}, {bits - 1}")
        value = t.text.new(f"xor i{bits} {value}, {sign}")
    zeros = t.text.intrinsic("ctlz", f"i{bits}", value, more=["i1 false"])
    result = zeros if "shiftamt" in t.modifiers else t.text.new(f"sub i{bits} {bits - 1}, {zeros}")
    none = t.text.new(f"icmp eq i{bits} {value}, 0")
    return t.text.new(f"select i1 {none}, i32 -1, i32 {t.text.resized(result, bits, 32)}")


@computes("fns", of="b32", into="b32")
def _nth_bit(t: Translation, kind: str, mask: str, base: str, n: str) -> str:
    """Return the n-th one of a mask from a base on, downwards for negative n; -1 where there is none."""
    t.text.declare("llvm.abs.i32", "declare i32 @llvm.abs.i32(i32, i1)")
    return t.text.new(f"call i32 @nth_bit(i32 {mask}, i32 {base}, i32 {n})")

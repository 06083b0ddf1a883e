"""Instructions of PTX on integers and bits, with what the PTX ISA says that they compute, in plain Python.

An operand of type s32 is an int with a sign, one of b32 or u32 an int without; a result may be any int, of
which only as many bits count as the result has. `%d` is the result, `%a`, `%b`, `%c`, `%e` are operands.
"""

import math
from dataclasses import dataclass
from typing import Any

NAMES = ("%a", "%b", "%c", "%e")


@dataclass(frozen=True)
class Case:
    """Lines of PTX, the types of the result and of the operands, and a function of the operands' values."""

    text: str
    result: str
    operands: tuple[str, ...]
    oracle: Any


CASES: list[Case] = []


def bits(kind):
    return int(kind[1:]) if kind != "pred" else 1


def signed(value, width):
    value &= (1 << width) - 1
    return value - (1 << width) if value >> width - 1 else value


def limits(kind):
    width = bits(kind)
    return (-(1 << width - 1), (1 << width - 1) - 1) if kind[0] == "s" else (0, (1 << width) - 1)


def clamp(value, kind):
    low, high = limits(kind)
    return max(low, min(high, value))


def case(opcode, result, operands, oracle):
    """An instruction, or lines of them where `opcode` names its operands."""
    kinds = tuple(operands.split())
    line = opcode if "%" in opcode else f"{opcode} %d, {', '.join(NAMES[: len(kinds)])};"
    CASES.append(Case(line, result, kinds, oracle))


def quotient(a, b):
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


# Arithmetic
for k in ("u16", "s16", "u32", "s32", "u64", "s64"):
    w = bits(k)
    two, three = f"{k} {k}", f"{k} {k} {k}"
    case(f"add.{k}", k, two, lambda a, b: a + b)
    case(f"sub.{k}", k, two, lambda a, b: a - b)
    case(f"mul.lo.{k}", k, two, lambda a, b: a * b)
    case(f"mul.hi.{k}", k, two, lambda a, b, w=w: a * b >> w)
    case(f"mad.lo.{k}", k, three, lambda a, b, c: a * b + c)
    case(f"mad.hi.{k}", k, three, lambda a, b, c, w=w: (a * b >> w) + c)
    case(f"sad.{k}", k, three, lambda a, b, c: abs(a - b) + c)
    # Division by zero gives any number on a GPU.
    safe = f"setp.eq.{k} %p, %b, 0; @%p mov.b{w} %b, 3; "
    case(f"{safe}div.{k} %d, %a, %b;", k, two, lambda a, b: quotient(a, b or 3))
    case(f"{safe}rem.{k} %d, %a, %b;", k, two, lambda a, b: a - quotient(a, b or 3) * (b or 3))
    case(f"min.{k}", k, two, min)
    case(f"max.{k}", k, two, max)
    if w < 64:
        wide = f"{k[0]}{2 * w}"
        case(f"mul.wide.{k}", wide, two, lambda a, b: a * b)
        case(f"mad.wide.{k}", wide, f"{two} {wide}", lambda a, b, c: a * b + c)
    if k[0] == "s":
        case(f"abs.{k}", k, k, abs)
        case(f"neg.{k}", k, k, lambda a: -a)
case("add.sat.s32", "s32", "s32 s32", lambda a, b: clamp(a + b, "s32"))
case("sub.sat.s32", "s32", "s32 s32", lambda a, b: clamp(a - b, "s32"))
case("mad.hi.sat.s32", "s32", "s32 s32 s32", lambda a, b, c: clamp((a * b >> 32) + c, "s32"))
case("min.relu.s32", "s32", "s32 s32", lambda a, b: max(min(a, b), 0))
case("max.relu.s32", "s32", "s32 s32", lambda a, b: max(a, b, 0))


def each_half(kind, function):
    def whole(*values):
        total = 0
        for at in (0, 16):
            halves = [value >> at & 0xFFFF for value in values]
            if kind == "s16":
                halves = [signed(half, 16) for half in halves]
            total |= (function(*halves) & 0xFFFF) << at
        return total

    return whole


for k in ("u16", "s16"):
    case(f"add.{k}x2", "b32", "b32 b32", each_half(k, lambda a, b: a + b))
    case(f"min.{k}x2", "b32", "b32 b32", each_half(k, min))
    case(f"max.{k}x2", "b32", "b32 b32", each_half(k, max))
case("min.relu.s16x2", "b32", "b32 b32", each_half("s16", lambda a, b: max(min(a, b), 0)))
case("max.relu.s16x2", "b32", "b32 b32", each_half("s16", lambda a, b: max(a, b, 0)))


def bits24(value, kind):
    value &= (1 << 24) - 1
    return signed(value, 24) if kind == "s32" else value


for k in ("u32", "s32"):
    for part, low in (("lo", 0), ("hi", 16)):
        case(
            f"mul24.{part}.{k}", k, f"{k} {k}", lambda a, b, k=k, low=low: bits24(a, k) * bits24(b, k) >> low
        )
        case(
            f"mad24.{part}.{k}",
            k,
            f"{k} {k} {k}",
            lambda a, b, c, k=k, low=low: (bits24(a, k) * bits24(b, k) >> low) + c,
        )
case(
    "mad24.hi.sat.s32",
    "s32",
    "s32 s32 s32",
    lambda a, b, c: clamp(signed(bits24(a, "s32") * bits24(b, "s32") >> 16, 32) + c, "s32"),
)


# Arithmetic of more words than one: the carry of the lower ones is in the upper one.
for k in ("u32", "s32", "u64", "s64"):
    w = bits(k)
    unsigned = f"u{w} u{w} u{w} u{w}"

    def pair(a, b, w=w):
        return a << w | b

    case(
        f"add.cc.{k} %d, %a, %b; addc.{k} %d, %c, %e;",
        k,
        unsigned,
        lambda a, b, c, e, w=w: (pair(c, a, w) + pair(e, b, w)) >> w,
    )
    case(
        f"sub.cc.{k} %d, %a, %b; subc.{k} %d, %c, %e;",
        k,
        unsigned,
        lambda a, b, c, e, w=w: (pair(c, a, w) - pair(e, b, w)) >> w,
    )
    case(
        f"add.cc.{k} %d, %a, %b; addc.cc.{k} %d, %c, %e; addc.{k} %d, 0, 0;",
        k,
        unsigned,
        lambda a, b, c, e, w=w: (pair(c, a, w) + pair(e, b, w)) >> 2 * w,
    )
    case(
        f"sub.cc.{k} %d, %a, %b; subc.cc.{k} %d, %c, %e; subc.{k} %d, 0, 0;",
        k,
        unsigned,
        lambda a, b, c, e, w=w: (pair(c, a, w) - pair(e, b, w)) >> 2 * w,
    )
    for part in ("lo", "hi"):

        def product(a, b, part=part, w=w, k=k):
            x, y = (signed(v, w) if k[0] == "s" else v for v in (a, b))
            return (x * y if part == "lo" else x * y >> w) & ((1 << w) - 1)

        case(
            f"mad.{part}.cc.{k} %d, %a, %b, %c; madc.{part}.{k} %d, %a, %b, %e;",
            k,
            unsigned,
            lambda a, b, c, e, f=product, w=w: f(a, b) + e + (f(a, b) + c >> w),
        )
        case(
            f"add.cc.{k} %d, %c, %e; madc.{part}.cc.{k} %d, %a, %b, %c; addc.{k} %d, 0, 0;",
            k,
            unsigned,
            lambda a, b, c, e, f=product, w=w: f(a, b) + c + (c + e >> w) >> w,
        )

# Dot products
for k in ("u32", "s32"):
    for other in ("u32", "s32"):
        into = "u32" if k == other == "u32" else "s32"

        def field(value, at, width, kind):
            value = value >> at & (1 << width) - 1
            return signed(value, width) if kind == "s32" else value

        case(
            f"dp4a.{k}.{other}",
            into,
            "b32 b32 b32",
            lambda a, b, c, k=k, o=other, f=field: (
                c + sum(f(a, i, 8, k) * f(b, i, 8, o) for i in (0, 8, 16, 24))
            ),
        )
        for part, first in (("lo", 0), ("hi", 16)):
            case(
                f"dp2a.{part}.{k}.{other}",
                into,
                "b32 b32 b32",
                lambda a, b, c, k=k, o=other, s=first, f=field: (
                    c + sum(f(a, 16 * i, 16, k) * f(b, s + 8 * i, 8, o) for i in (0, 1))
                ),
            )

# Logic and shifts
for w in (16, 32, 64):
    k = f"b{w}"
    case(f"and.{k}", k, f"{k} {k}", lambda a, b: a & b)
    case(f"or.{k}", k, f"{k} {k}", lambda a, b: a | b)
    case(f"xor.{k}", k, f"{k} {k}", lambda a, b: a ^ b)
    case(f"not.{k}", k, k, lambda a: ~a)
    case(f"cnot.{k}", k, k, lambda a: int(a == 0))
    case(f"shl.{k}", k, f"{k} u32", lambda a, b: a << b if b < 64 else 0)
    for sign in "bus":
        case(f"shr.{sign}{w}", k, f"{sign}{w} u32", lambda a, b: a >> b)
    case(f"selp.{k} %d, %a, %b, %c;", k, f"{k} {k} pred", lambda a, b, c: a if c else b)
    case(f"slct.{k}.s32", k, f"{k} {k} s32", lambda a, b, c: a if c >= 0 else b)
    case(f"slct.{k}.f32", k, f"{k} {k} f32", lambda a, b, c: a if c >= 0 else b)
for how, function in (("and", lambda a, b: a & b), ("or", lambda a, b: a | b), ("xor", lambda a, b: a ^ b)):
    case(f"{how}.pred", "pred", "pred pred", function)
case("not.pred", "pred", "pred", lambda a: 1 - a)


def funnel(direction, a, b, n):
    both = b << 32 | a
    return (both << n) >> 32 if direction == "l" else both >> n


for side in "lr":
    case(f"shf.{side}.clamp.b32", "b32", "b32 b32 u32", lambda a, b, c, s=side: funnel(s, a, b, min(c, 32)))
    case(f"shf.{side}.wrap.b32", "b32", "b32 b32 u32", lambda a, b, c, s=side: funnel(s, a, b, c % 32))
for table in (0x80, 0xFE, 0x40, 0x1A, 0x96, 0xE8, 0x00, 0xFF, 0xCA):

    def looked_up(a, b, c, table=table):
        return sum(
            (table >> ((a >> i & 1) << 2 | (b >> i & 1) << 1 | c >> i & 1) & 1) << i for i in range(32)
        )

    case(f"lop3.b32 %d, %a, %b, %c, {table:#x};", "b32", "b32 b32 b32", looked_up)
for how, function in (("or", lambda d, q: int(d != 0) | q), ("and", lambda d, q: int(d != 0) & q)):
    case(
        f"lop3.{how}.b32 _|%d, %a, %b, %c, 0x80, %e;",
        "pred",
        "b32 b32 b32 pred",
        lambda a, b, c, e, f=function: f(a & b & c, e),
    )

# Bits
for w in (32, 64):
    k = f"b{w}"
    case(f"popc.{k}", "u32", k, lambda a: a.bit_count())
    case(f"clz.{k}", "u32", k, lambda a, w=w: w - a.bit_length())
    case(f"brev.{k}", k, k, lambda a, w=w: int(f"{a:0{w}b}"[::-1], 2))
    for sign in "us":

        def found(a, w=w, shift=False):
            at = (~a if a < 0 else a).bit_length() - 1
            return at if at < 0 or not shift else w - 1 - at

        case(f"bfind.{sign}{w}", "u32", f"{sign}{w}", found)
        case(f"bfind.shiftamt.{sign}{w}", "u32", f"{sign}{w}", lambda a, w=w, f=found: f(a, w, True))

        def extracted(a, b, c, w=w, sign=sign):
            at, length = b & 255, c & 255
            if not length:
                return 0
            # As if the number went on with its sign, or with zeros.
            top = at + length - 1 if at + length - 1 < w else w - 1
            value = (a & (1 << w) - 1) >> at & (1 << length) - 1
            is_negative = sign == "s" and a >> top & 1
            return value | (-1 << max(0, min(length, w - at)) if is_negative else 0)

        case(f"bfe.{sign}{w}", f"{sign}{w}", f"{sign}{w} u32 u32", extracted)

    def inserted(a, b, c, e, w=w):
        mask = ((1 << (e & 255)) - 1) << (c & 255) & (1 << w) - 1
        return b & ~mask | a << (c & 255) & mask

    case(f"bfi.{k}", k, f"{k} {k} u32 u32", inserted)


def nth(mask, base, offset):
    if offset == 0:
        return base if mask >> base & 1 else -1
    order = range(base, 32) if offset > 0 else range(base, -1, -1)
    ones = [i for i in order if mask >> i & 1]
    return ones[abs(offset) - 1] if abs(offset) <= len(ones) else -1


case("and.b32 %b, %b, 31; fns.b32 %d, %a, %b, %c;", "b32", "b32 u32 s32", lambda a, b, c: nth(a, b % 32, c))
case(
    "and.b32 %b, %b, 31; rem.s32 %c, %c, 9; fns.b32 %d, %a, %b, %c;",
    "b32",
    "b32 u32 s32",
    lambda a, b, c: nth(a, b % 32, int(math.fmod(c, 9))),
)


def mask_of(a, b, mode):
    if mode == "clamp" and a >= 32:
        return 0
    start, length = a % 32, 32 if mode == "clamp" and b >= 32 else b % 32
    return ((1 << length) - 1) << start


def extended(a, b, mode, kind):
    n = 32 if mode == "clamp" and b >= 32 else b % 32
    value = a & (1 << n) - 1
    return signed(value, n) if kind == "s32" and n else value


for mode in ("clamp", "wrap"):
    case(f"bmsk.{mode}.b32", "b32", "u32 u32", lambda a, b, m=mode: mask_of(a, b, m))
    for k in ("u32", "s32"):
        case(f"szext.{mode}.{k}", k, "b32 u32", lambda a, b, m=mode, k=k: extended(a, b, m, k))

# Bytes that the modes of prmt choose, for each value of the control's lower two bits, from the lowest on.
CHOSEN = {
    "f4e": [(0, 1, 2, 3), (1, 2, 3, 4), (2, 3, 4, 5), (3, 4, 5, 6)],
    "b4e": [(0, 7, 6, 5), (1, 0, 7, 6), (2, 1, 0, 7), (3, 2, 1, 0)],
    "rc8": [(0, 0, 0, 0), (1, 1, 1, 1), (2, 2, 2, 2), (3, 3, 3, 3)],
    "ecl": [(0, 1, 2, 3), (1, 1, 2, 3), (2, 2, 2, 3), (3, 3, 3, 3)],
    "ecr": [(0, 0, 0, 0), (0, 1, 1, 1), (0, 1, 2, 2), (0, 1, 2, 3)],
    "rc16": [(0, 1, 0, 1), (2, 3, 2, 3), (0, 1, 0, 1), (2, 3, 2, 3)],
}


def permuted(a, b, c):
    total = 0
    for i in range(4):
        control = c >> 4 * i & 15
        byte = (b << 32 | a) >> 8 * (control & 7) & 255
        if control & 8:
            byte = 255 if byte >> 7 else 0
        total |= byte << 8 * i
    return total


case("prmt.b32", "b32", "b32 b32 b32", permuted)
for mode, table in CHOSEN.items():
    case(
        f"prmt.b32.{mode}",
        "b32",
        "b32 b32 b32",
        lambda a, b, c, t=table: sum(
            ((b << 32 | a) >> 8 * at & 255) << 8 * i for i, at in enumerate(t[c & 3])
        ),
    )

# Comparisons
ORDER = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
}
UNSIGNED = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}
for k in ("u16", "s16", "u32", "s32", "u64", "s64", "b16", "b32", "b64"):
    names = {name: name for name in ORDER if k[0] != "b" or name in ("eq", "ne")}
    if k[0] == "u":
        names |= UNSIGNED
    for name, how in names.items():
        case(f"setp.{name}.{k}", "pred", f"{k} {k}", lambda a, b, f=ORDER[how]: int(f(a, b)))
for k in ("f32", "f64"):
    for name, function in ORDER.items():
        case(
            f"setp.{name}.{k}",
            "pred",
            f"{k} {k}",
            lambda a, b, f=function: int(f(a, b) and not math.isnan(a) and not math.isnan(b)),
        )
        case(
            f"setp.{name}u.{k}",
            "pred",
            f"{k} {k}",
            lambda a, b, f=function: int(f(a, b) or math.isnan(a) or math.isnan(b)),
        )
    case(f"setp.num.{k}", "pred", f"{k} {k}", lambda a, b: int(not (math.isnan(a) or math.isnan(b))))
    case(f"setp.nan.{k}", "pred", f"{k} {k}", lambda a, b: int(math.isnan(a) or math.isnan(b)))
    case(f"set.lt.u32.{k}", "u32", f"{k} {k}", lambda a, b: -int(a < b))
    least = {"f32": 2.0**-126, "f64": 2.0**-1022}[k]
    TESTS = {
        "finite": math.isfinite,
        "infinite": math.isinf,
        "number": lambda a: not math.isnan(a),
        "notanumber": math.isnan,
        "normal": lambda a, least=least: math.isfinite(a) and (a == 0 or abs(a) >= least),
        "subnormal": lambda a, least=least: 0 < abs(a) < least,
    }
    for name, function in TESTS.items():
        case(f"testp.{name}.{k}", "pred", k, lambda a, f=function: int(f(a)))
for how, function in (("and", lambda x, c: x & c), ("or", lambda x, c: x | c), ("xor", lambda x, c: x ^ c)):
    case(f"setp.lt.{how}.s32", "pred", "s32 s32 pred", lambda a, b, c, f=function: f(int(a < b), c))
    case(
        f"setp.lt.{how}.s32 %d, %a, %b, !%c;",
        "pred",
        "s32 s32 pred",
        lambda a, b, c, f=function: f(int(a < b), 1 - c),
    )
    case(
        f"setp.lt.{how}.s32 %p|%d, %a, %b, %c;",
        "pred",
        "s32 s32 pred",
        lambda a, b, c, f=function: f(int(a >= b), c),
    )
    case(f"set.lt.{how}.u32.s32", "u32", "s32 s32 pred", lambda a, b, c, f=function: -f(int(a < b), c))
case("setp.lt.s32 %p|%d, %a, %b;", "pred", "s32 s32", lambda a, b: int(a >= b))
case("set.ge.s32.u32", "s32", "u32 u32", lambda a, b: -int(a >= b))
case("set.ge.f32.s32 %f, %a, %b; mov.b32 %d, %f;", "b32", "s32 s32", lambda a, b: 0x3F800000 * int(a >= b))

for pair, one in (("f16x2", 0x3C00), ("bf16x2", 0x3F80)):
    # Bits of positive numbers are ordered as the numbers are.
    for into, yes in ((pair, one), ("u32", 0xFFFF)):
        case(
            f"and.b32 %a, %a, 0x03ff03ff; and.b32 %b, %b, 0x03ff03ff; "
            f"set.lt.or.{into}.{pair} %d, %a, %b, %c;",
            "b32",
            "b32 b32 pred",
            lambda a, b, c, yes=yes: each_half("u16", lambda x, y: yes * int(x % 1024 < y % 1024 or c))(a, b),
        )

# Conversions among integers
INTEGERS = [f"{sign}{w}" for w in (8, 16, 32, 64) for sign in "us"]
for given in INTEGERS:
    for into in INTEGERS:
        case(f"cvt.{into}.{given}", into, given, lambda a: a)
        (low, high), (least, most) = limits(into), limits(given)
        if least < low or most > high:  # elsewhere .sat is no PTX
            case(f"cvt.sat.{into}.{given}", into, given, lambda a, k=into: clamp(a, k))
for into in ("u16", "s16"):
    case(
        f"cvt.pack.sat.{into}.s32",
        "b32",
        "s32 s32",
        lambda a, b, k=into: (clamp(a, k) & 0xFFFF) << 16 | clamp(b, k) & 0xFFFF,
    )
for into, w in (("u8", 8), ("s8", 8), ("u4", 4), ("s4", 4), ("u2", 2), ("s2", 2)):
    case(
        f"cvt.pack.sat.{into}.s32.b32",
        "b32",
        "s32 s32 b32",
        lambda a, b, c, k=into, w=w, m=(1 << w) - 1: c << 2 * w | (clamp(a, k) & m) << w | clamp(b, k) & m,
    )

"""Comparisons, and conversions among integers."""

import math

from ptx_cases import case, clamp, each_half, limits

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
# One of the two results is the operand that both are combined with.
case("setp.lt.and.s32 %c|%d, %a, %b, %c;", "pred", "s32 s32 pred", lambda a, b, c: int(a >= b) & c)
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

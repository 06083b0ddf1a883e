"""Logic, shifts and other operations on bits."""

import math

from ptx_cases import case, signed

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

"""Arithmetic on integers."""

from ptx_cases import bits, case, clamp, each_half, signed


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

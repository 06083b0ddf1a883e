"""Stand-in."""

from __future__ import annotations


def arithmetic(text, how, kind, parts, values):
    mine = {"f32": "float", "f64": "double"}[kind]
    if how in ("add", "sub", "mul", "div"):
        return text.new(f"f{how} {mine} {values[0]}, {values[1]}")
    if how == "fma":
        return text.intrinsic("fma", mine, *values)
    if how in ("min", "max"):
        return text.intrinsic(f"{how}imumnum", mine, *values)
    if how == "neg":
        return text.new(f"fneg {mine} {values[0]}")
    if how == "abs":
        return text.intrinsic("fabs", mine, values[0])
    if how == "copysign":
        return text.intrinsic("copysign", mine, values[1], values[0])
    if how == "rcp":
        return text.new(f"fdiv {mine} 1.0, {values[0]}")
    if how == "tanh":
        return text.call("tanhf", mine, f"{mine} {values[0]}")
    v = text.intrinsic(
        {"sqrt": "sqrt", "rsqrt": "sqrt", "ex2": "exp2", "lg2": "log2", "sin": "sin", "cos": "cos"}[how],
        mine,
        values[0],
    )
    return text.new(f"fdiv {mine} 1.0, {v}") if how == "rsqrt" else v


def compared(text, how, kind, parts, a, b):
    mine = {"f32": "float", "f64": "double"}[kind]
    name = {"num": "ord", "nan": "uno"}.get(how) or (f"u{how[:2]}" if len(how) == 3 else f"o{how}")
    return text.new(f"fcmp {name} {mine} {a}, {b}")


def converted(text, into, given, parts, values):
    value = values[0]
    whole = {"rni": "roundeven", "rzi": "trunc", "rmi": "floor", "rpi": "ceil"}
    F = {"f32": "float", "f64": "double"}
    integral = next((whole[p] for p in parts if p in whole), "")
    if given in F and integral:
        value = text.intrinsic(integral, F[given], value)
    if given in F and into in F:
        if given == "f64" and into == "f32":
            return text.new(f"fptrunc double {value} to float")
        if given == "f32" and into == "f64":
            return text.new(f"fpext float {value} to double")
        return value
    if given in F:
        b = f"i{into[1:]}"
        return text.call(
            f"llvm.fpto{'s' if into[0] == 's' else 'u'}i.sat.{b}.{given}", b, f"{F[given]} {value}"
        )
    return text.new(f"{'s' if given[0] == 's' else 'u'}itofp i{given[1:]} {value} to {F[into]}")

"""Powers of real numbers with signed integers as exponents, in LLVM's text.

Numba computes `x ** n` in a loop, and Enzyme would keep all that is computed in its turns. LLVM has a
function for such powers, whose derivative Enzyme knows: it stands for Numba's loop until Enzyme is done, and
is defined by such a loop then.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

DECLARED: Final = """
declare i64 @llvm.abs.i64(i64, i1)
declare float @llvm.powi.f32.i64(float, i64)
declare double @llvm.powi.f64.i64(double, i64)
"""
_OF_NUMBA: Final = re.compile(r".*int_power_impl.*int_power.*[df][ix]")
_PARAMETERS: Final = re.compile(
    r"\(ptr [^,]*?(%[^ ,]+), ptr [^,]*, (float|double) (%[^ ,]+), i(32|64) (%[^ ,]+)\)"
)
_OF_LLVM: Final = re.compile(r"^declare [^\n]*@llvm\.powi\.((?:v(\d+))?f(\d+))\.i64\(.*\n", re.M)
_TYPES: Final = {"32": "float", "64": "double"}
# A real number to the power of a negative integer is the inverse of another power. Numba raises where that is
# zero, unless the integer is large, and for the smallest integer.
_BY_LLVM: Final = """{head}
  %n = {exponent}
  %size = call i64 @llvm.abs.i64(i64 %n, i1 false)
  %power = call {of} @llvm.powi.{kind}.i64({of} {base}, i64 %size)
  %inverse = fdiv {of} 1.0, %power
  %inverted = icmp slt i64 %n, 0
  %found = select i1 %inverted, {of} %inverse, {of} %power
  store {of} %found, ptr {result}
  %zero = fcmp oeq {of} %power, 0.0
  %checked = icmp ule i64 %size, 65536
  %divided = and i1 %zero, %inverted
  %infinite = and i1 %divided, %checked
  %smallest = icmp slt i64 %size, 0
  %fails = or i1 %infinite, %smallest
  br i1 %fails, label %failure, label %success
failure:
  ret i32 1
success:
  ret i32 0
}}
"""
_NUMBER: Final = """
declare i64 @llvm.abs.i64(i64, i1)
declare {of} @llvm.pow.{kind}({of}, {of})
define internal {of} @powi.{kind}.i64({of} %x, i64 %n) noinline nosync nounwind willreturn memory(none) {{
  %size = call i64 @llvm.abs.i64(i64 %n, i1 false)
  %many = icmp ugt i64 %size, 65536
  br i1 %many, label %other, label %turn
other:
  %exponent = sitofp i64 %n to {of}
  %found = call {of} @llvm.pow.{kind}({of} %x, {of} %exponent)
  ret {of} %found
turn:
  %left = phi i64 [ %size, %0 ], [ %half, %go ]
  %result = phi {of} [ 1.0, %0 ], [ %product, %go ]
  %factor = phi {of} [ %x, %0 ], [ %square, %go ]
  %done = icmp eq i64 %left, 0
  br i1 %done, label %end, label %go
go:
  %bit = trunc i64 %left to i1
  %times = fmul {of} %result, %factor
  %product = select i1 %bit, {of} %times, {of} %result
  %half = lshr i64 %left, 1
  %square = fmul {of} %factor, %factor
  br label %turn
end:
  %inverse = fdiv {of} 1.0, %result
  %inverted = icmp slt i64 %n, 0
  %power = select i1 %inverted, {of} %inverse, {of} %result
  ret {of} %power
}}
"""
# A slope has the power below one that is there already: their quotient is the base, but for 0 and infinity.
_BELOW: Final = """
declare {of} @llvm.fabs.{kind}({of})
define internal {of} @powi.below.{kind}.i64({of} %x, i64 %n) alwaysinline {{
  %power = call {of} @powi.{kind}.i64({of} %x, i64 %n)
  %size = call {of} @llvm.fabs.{kind}({of} %power)
  %above = fcmp ogt {of} %size, 0x39B0000000000000
  %below = fcmp olt {of} %size, 0x4630000000000000
  %usual = and i1 %above, %below
  br i1 %usual, label %part, label %other
part:
  %quotient = fdiv {of} %power, %x
  ret {of} %quotient
other:
  %m = sub i64 %n, 1
  %found = call {of} @powi.{kind}.i64({of} %x, i64 %m)
  ret {of} %found
}}
"""
_FUNCTION: Final = re.compile(r"^define .*?^\}$", re.M | re.S)
_LESS_ONE: Final = re.compile(r"^ *(%\S+) = add (?:nuw |nsw )*i64 (%\S+), -1$", re.M)
_CALL: Final = re.compile(r"@powi\.(f\d+)\.i64\((\w+) (%\S+), i64 (%[^\s)]+)\)")
_CONSTANT: Final = re.compile(r"(<[^>]*>|\w+) @powi\.(v?\w+)\.i64\(([^,]*), i64 ([1-9]\d?)\)")


def by_llvm(name: str, head: str) -> str | None:
    """Return Numba's function for powers, with the first line `head`, by LLVM's; None for other functions."""
    if not _OF_NUMBA.fullmatch(name) or not (found := _PARAMETERS.search(head)):
        return None
    result, of, base, bits, exponent = found.groups()
    return _BY_LLVM.format(
        head=head,
        result=result,
        of=of,
        base=base,
        exponent=f"sext i32 {exponent} to i64" if bits == "32" else f"add i64 {exponent}, 0",
        kind={"float": "f32", "double": "f64"}[of],
    )


def defined(text: str) -> str:
    """Return a module with definitions of all powers that it has, of numbers and of vectors."""
    kinds = sorted({(bits, kind, count) for kind, count, bits in _OF_LLVM.findall(text)})
    text = _FUNCTION.sub(_by_quotients, _OF_LLVM.sub("", text).replace("@llvm.powi.", "@powi."))
    constant = sorted({(of, kind, n) for of, kind, _, n in _CONSTANT.findall(text)})
    text = _CONSTANT.sub(r"\1 @powi.\2.to.\4(\3)", text)
    text += "".join("\n".join(_product(of, kind, int(n))) for of, kind, n in constant)
    text += "".join(
        (_NUMBER + _BELOW).format(of=_TYPES[x], kind=f"f{x}") for x in sorted({bits for bits, _, _ in kinds})
    )
    return text + "".join(_vector(bits, int(count)) for bits, _, count in kinds if count)


def _product(of: str, kind: str, n: int) -> Iterator[str]:
    """Yield the function for a power that is known here: a few products, in place."""
    yield f"define internal {of} @powi.{kind}.to.{n}({of} %factor0) alwaysinline {{"
    found = ""
    for i, bit in enumerate(reversed(f"{n:b}")):
        if i:
            yield f"  %factor{i} = fmul {of} %factor{i - 1}, %factor{i - 1}"
        if bit == "1" and found:
            yield f"  %found{i} = fmul {of} {found}, %factor{i}"
        if bit == "1":
            found = f"%found{i}" if found else f"%factor{i}"
    yield f"  ret {of} {found}"
    yield "}\n"


def _by_quotients(function: re.Match[str]) -> str:
    """Return a function in which a power comes from the next one, where that is there."""
    next_one = dict(_LESS_ONE.findall(function[0]))
    there = {(base, exponent) for _, _, base, exponent in _CALL.findall(function[0])}

    def quotient(call: re.Match[str]) -> str:
        kind, of, base, exponent = call.groups()
        n = next_one.get(exponent)
        return f"@powi.below.{kind}.i64({of} {base}, i64 {n})" if (base, n) in there else call[0]

    return _CALL.sub(quotient, function[0])


def _vector(bits: str, count: int) -> str:
    """Return the function for powers of vectors."""
    of = f"<{count} x {_TYPES[bits]}>"
    return "\n".join(
        [
            f"define internal {of} @powi.v{count}f{bits}.i64({of} %x, i64 %n) alwaysinline {{",
            *_elements(bits, count),
            f"  ret {of} %all{count}",
            "}\n",
        ]
    )


def _elements(bits: str, count: int) -> Iterator[str]:
    of = _TYPES[bits]
    yield f"  %all0 = freeze <{count} x {of}> poison"
    for i in range(count):
        yield f"  %x{i} = extractelement <{count} x {of}> %x, i64 {i}"
        yield f"  %y{i} = call {of} @powi.f{bits}.i64({of} %x{i}, i64 %n)"
        yield f"  %all{i + 1} = insertelement <{count} x {of}> %all{i}, {of} %y{i}, i64 {i}"

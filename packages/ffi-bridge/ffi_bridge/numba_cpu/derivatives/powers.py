"""Powers of real numbers with signed integers as exponents, in LLVM's text.

Numba computes `x ** n` in a loop, and Enzyme would keep all that is computed in its turns. LLVM has a
function for such powers, whose derivative Enzyme knows: it stands for Numba's loop until Enzyme is done, and
is defined by such a loop then.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from string import Template
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
_BY_LLVM: Final = Template(Path(__file__).with_name("power_by_llvm.ll").read_text())
_NUMBER: Final = Template(Path(__file__).with_name("power.ll").read_text())
_FUNCTION: Final = re.compile(r"^define .*?^\}$", re.M | re.S)
_LESS_ONE: Final = re.compile(r"^ *(%\S+) = add (?:nuw |nsw )*i64 (%\S+), -1$", re.M)
_CALL: Final = re.compile(r"@powi\.(f\d+)\.i64\((\w+) (%\S+), i64 (%[^\s)]+)\)")
# Of at most two digits: more products than that are a loop's business.
_CONSTANT: Final = re.compile(r"(<[^>]*>|\w+) @powi\.(v?\w+)\.i64\(([^,]*), i64 ([1-9]\d?)\)")


def by_llvm(name: str, head: str) -> str | None:
    """Return Numba's function for powers, with the first line `head`, by LLVM's; None for any but that."""
    if not _OF_NUMBA.fullmatch(name) or not (parameters := _PARAMETERS.search(head)):
        return None
    result, of, base, bits, exponent = parameters.groups()
    return _BY_LLVM.substitute(
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
        _NUMBER.substitute(of=_TYPES[x], kind=f"f{x}") for x in sorted({bits for bits, _, _ in kinds})
    )
    return text + "".join(_vector(bits, int(count)) for bits, _, count in kinds if count)


def _product(of: str, kind: str, n: int) -> Iterator[str]:
    """Yield the function for a power that is known here: a few products, in place."""
    yield f"define internal {of} @powi.{kind}.to.{n}({of} %factor0) alwaysinline {{"
    product = ""
    # By squaring: the lowest bit first.
    for i, bit in enumerate(reversed(f"{n:b}")):
        if i:
            yield f"  %factor{i} = fmul {of} %factor{i - 1}, %factor{i - 1}"
        if bit == "1" and product:
            yield f"  %product{i} = fmul {of} {product}, %factor{i}"
        if bit == "1":
            product = f"%product{i}" if product else f"%factor{i}"
    yield f"  ret {of} {product}"
    yield "}\n"


def _by_quotients(function: re.Match[str]) -> str:
    """Return a function that computes a power from the next one, where it has that."""
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

"""Enzyme's text of a derivative, made fit for the LLVM of Numba, which is an older one."""

from __future__ import annotations

import re
import struct
from typing import Final

from ffi_bridge.numba_cpu.derivatives import activity, powers
from ffi_bridge.numba_cpu.derivatives.llvm_rewrite import OPAQUE, declared_once, without_marks

_OPAQUE_DEFINED: Final = f"""
define internal i64 @{OPAQUE}(i64 %x) alwaysinline {{
  ret i64 %x
}}
define internal void @ffi_bridge_keep(ptr %x) alwaysinline {{
  ret void
}}
"""
# Types of numbers, and numbers as a newer LLVM writes them: in the fewest decimal digits, in as many
# hexadecimal ones as the type has, or by name.
_NUMBER: Final = re.compile(
    r"\b(?P<type>float|double)\b|"
    r"(?<=[ (<])(?:(?P<decimal>-?\d+\.\d+(?:e[+-]?\d+)?)|f0x(?P<bits>[0-9A-F]+)|(?P<name>[+-](?:inf|qnan)))"
    r"(?=[ ,)>]|$)"
)
_FORMATS: Final = {"float": ">f", "double": ">d"}
# Numba's LLVM ends the process where it makes vectors of calls that return a pair.
_SINCOS: Final = re.compile(r"^declare [^\n]*@llvm\.sincos\.((?:v(\d+))?f(\d+))\(.*\n", re.M)
# The first derivative of `primal`, whose buffers and tangents are places apart: see `kernels`.
_FIRST: Final = re.compile(
    r"^(?P<head>define [^\n]*@(?:fwd)?diffeprimal(?:\.\d+)?\([^\n]*\{)(?P<body>\n.*?^\}\n)", re.M | re.S
)


def from_enzyme(text: str) -> str:
    """Return the text of a newer LLVM in the terms of Numba's."""
    text = re.sub(r"^(attributes #[0-9]+ = |!).*\n", "", without_marks(text), flags=re.M)
    text = re.sub(r", !tbaa ![0-9]+", "", text)
    text = re.sub(r"(?<=itofp)( (fast|nnan|ninf|nsz|arcp|contract|afn|reassoc))+(?= )", "", text)
    text = re.sub(r" #[0-9]+", "", text)
    text = _FIRST.sub(_first, text)
    # The slope of sqrt is 0 at 0, and not at NaN, which Enzyme's comparison takes for 0, too.
    text = text.replace(" fcmp fast ueq ", " fcmp oeq ").replace(" fcmp fast one ", " fcmp une ")
    added = "".join(_sincos(*found.groups()) for found in _SINCOS.finditer(text))
    added += _OPAQUE_DEFINED
    text = _SINCOS.sub("", text).replace("@llvm.sincos.", "@sincos.")
    text = re.sub(rf"^declare [^\n]*@({OPAQUE}|ffi_bridge_keep)\(.*\n", "", text, flags=re.M)
    newer = r" (nofree|allocptr|dead_on_return|initializes\(\([^)]*\)\)|nocreateundeforpoison)(?=[ ,)])"
    text = "\n".join(map(_with_older_numbers, re.sub(newer, "", text).split("\n")))
    return declared_once(powers.defined(text + added))


def _first(function: re.Match[str]) -> str:
    head = re.sub(r"\bptr (?!noalias)", "ptr noalias ", function["head"])
    return activity.decided(head + function["body"])


def _with_older_numbers(line: str) -> str:
    """Return a line with each number as the digits of a double, which every LLVM reads for a float, too."""
    kind = "double"

    def older(found: re.Match[str]) -> str:
        nonlocal kind
        if found["type"]:
            kind = found["type"]
            return found[0]
        if found["bits"]:
            (value,) = struct.unpack(_FORMATS[kind], bytes.fromhex(found["bits"]))
        else:
            value = float((found["decimal"] or found["name"]).replace("qnan", "nan"))
        (rounded,) = struct.unpack(_FORMATS[kind], struct.pack(_FORMATS[kind], value))
        return f"0x{struct.pack('>d', rounded).hex().upper()}"

    return _NUMBER.sub(older, line)


def _sincos(kind: str, count: str | None, bits: str) -> str:
    """Return the definition of a function that returns sine and cosine, of numbers or vectors."""
    number = {"32": "float", "64": "double"}[bits]
    of = f"<{count} x {number}>" if count else number
    return f"""
declare {of} @llvm.sin.{kind}({of})
declare {of} @llvm.cos.{kind}({of})
define internal {{ {of}, {of} }} @sincos.{kind}({of} %x) alwaysinline {{
  %sine = call {of} @llvm.sin.{kind}({of} %x)
  %cosine = call {of} @llvm.cos.{kind}({of} %x)
  %first = insertvalue {{ {of}, {of} }} poison, {of} %sine, 0
  %both = insertvalue {{ {of}, {of} }} %first, {of} %cosine, 1
  ret {{ {of}, {of} }} %both
}}
"""

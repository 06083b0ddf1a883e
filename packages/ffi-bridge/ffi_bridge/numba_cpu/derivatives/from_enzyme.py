"""Enzyme's text of a derivative, made fit for the LLVM of Numba, which is an older one, and with its memory.

Where Enzyme decides at run time whether a pointer has a tangent, each load and store of a tangent asks first
whether its address is that of the number itself, which says that there is none. No loop with such a question
becomes one over vectors. Addresses in different memory differ, so some are answered here.

In the reverse mode Enzyme lets go of some arrays, and keeps others until they are needed, without a last
`free`. So all that a derivative allocates is of an arena, which is released at the end, also if the kernel
raised; one chunk is kept for the next call. In loops whose number of turns is not known before, Enzyme keeps
a small block or more for each turn, and lets one grow as it goes: the arena cuts blocks of up to a million
bytes from few large chunks.
"""

import re
import struct
from pathlib import Path
from typing import Final

from ffi_bridge.numba_cpu.derivatives import failures, powers
from ffi_bridge.numba_cpu.derivatives.llvm_rewrite import OPAQUE, declared_once, without_marks

_NAME: Final = r"%(?:\"[^\"]*\"|[\w.$-]+)"
_LINE: Final = re.compile(rf"^ *({_NAME}) = (.*)$", re.M)
_QUESTION: Final = re.compile(
    rf"^(?P<result> *{_NAME} = )icmp (?P<relation>eq|ne) ptr (?P<left>{_NAME}), (?P<right>{_NAME})$", re.M
)
_PARAMETER: Final = re.compile(rf"({_NAME})(?=[,)])")
_ALLOCATED: Final = re.compile(r"[^@]*@[mc]alloc\(")
_MOVED: Final = re.compile(r"getelementptr ")
_MERGED: Final = re.compile(r"phi ptr |select i1 [^,]*, ptr ")
_POINTER: Final = re.compile(rf"(?:\[ |ptr )({_NAME})")


def decided(function: str) -> str:
    """Return the text of a derivative whose parameters are memory apart, with the questions answered.

    A kernel may ask whether two inputs are one array, which they may be: that stays a question.
    """
    head, _, body = function.partition("\n")
    parameters, lines = set(_PARAMETER.findall(head)), dict(_LINE.findall(body))

    def memory(name: str, seen: set[str]) -> set[str]:
        """Return the names of the memory that an address may point into: parameters, allocations, unknown."""
        if name in seen:
            return set()
        seen.add(name)
        line = lines.get(name, "")
        if _MOVED.match(line) or _MERGED.match(line):
            return set().union(*(memory(x, seen) for x in _POINTER.findall(line)))
        return {name}

    def is_known(name: str) -> bool:
        return name in parameters or bool(_ALLOCATED.match(lines.get(name, "")))

    def answer(question: re.Match[str]) -> str:
        sides = [memory(question[x], set()) for x in ("left", "right")]
        # Enzyme's names of tangents end in '; a null pointer leads nowhere.
        are_given = [any(x in parameters and not x.endswith("'\"") for x in side) for side in sides]
        if (
            not all(sides)
            or sides[0] & sides[1]
            or all(are_given)
            or not all(map(is_known, sides[0] | sides[1]))
        ):
            return question[0]
        return f"{question['result']}icmp {question['relation']} i1 true, false"

    return f"{head}\n{_QUESTION.sub(answer, body)}"


_ARENA: Final = Path(__file__).with_name("arena.ll").read_text()
_ALLOCATES: Final = re.compile(r"@(malloc|calloc|realloc|free)\(")
_DECLARED: Final = re.compile(
    rf"^declare [^\n]*@(malloc|calloc|realloc|free|{failures.NAME}|"
    r"llvm\.(memset\.p0\.i64|memcpy\.p0\.p0\.i64|ctlz\.i64|u(min|max)\.i64))\(.*\n",
    re.M,
)
_DEFINED: Final = re.compile(r"^define [^\n]*?@(\"[^\"]+\"|[\w.$-]+)\(", re.M)
_ENTRY: Final = re.compile(r"^define [^\n]*@entry\([^\n]*\{$", re.M)


def released_at_the_end(text: str, name: str) -> str:
    """Return a module with the function `name(table)` that calls `entry`, and leaves nothing allocated.

    Each function of the module gets the arena as its first argument.
    """
    functions = {match[1] for match in _DEFINED.finditer(text)} - {"entry"}
    # What both declare, the arena declares.
    text = _ENTRY.sub("define internal void @entry(ptr %outs, ptr %.arena) {", _DECLARED.sub("", text))
    text = _ALLOCATES.sub(r"@arena_\1(", text).replace(f"@{failures.NAME}(", "@arena_leave_if(")
    for called in [*map(re.escape, functions), r"arena_(?:malloc|calloc|realloc|free|leave_if)"]:
        text = re.sub(rf"(@{called}\()(?=(\)?))", lambda x: f"{x[1]}ptr %.arena{'' if x[2] else ', '}", text)
    return text + _ARENA.replace("$name", name)


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
    # What the marks refer to has just been left out.
    text = re.sub(r", !tbaa ![0-9]+", "", text)
    # An older LLVM knows these flags of arithmetic, and not of conversions.
    text = re.sub(r"(?<=itofp)( (fast|nnan|ninf|nsz|arcp|contract|afn|reassoc))+(?= )", "", text)
    text = re.sub(r" #[0-9]+", "", text)
    text = _FIRST.sub(_first, text)
    # The slope of sqrt is 0 at 0, and not at NaN, which Enzyme's comparison takes for 0, too.
    text = text.replace(" fcmp fast ueq ", " fcmp oeq ").replace(" fcmp fast one ", " fcmp une ")
    added = "".join(_sincos(*match.groups()) for match in _SINCOS.finditer(text))
    added += _OPAQUE_DEFINED
    text = _SINCOS.sub("", text).replace("@llvm.sincos.", "@sincos.")
    text = re.sub(rf"^declare [^\n]*@({OPAQUE}|ffi_bridge_keep)\(.*\n", "", text, flags=re.M)
    newer = r" (nofree|allocptr|dead_on_return|initializes\(\([^)]*\)\)|nocreateundeforpoison)(?=[ ,)])"
    text = "\n".join(map(_with_older_numbers, re.sub(newer, "", text).split("\n")))
    return declared_once(powers.defined(text + added))


def _first(function: re.Match[str]) -> str:
    head = re.sub(r"\bptr (?!noalias)", "ptr noalias ", function["head"])
    return decided(head + function["body"])


def _with_older_numbers(line: str) -> str:
    """Return a line with each number as the digits of a double, which every LLVM reads for a float, too."""
    kind = "double"

    def older(token: re.Match[str]) -> str:
        nonlocal kind
        if token["type"]:
            kind = token["type"]
            return token[0]
        if token["bits"]:
            (value,) = struct.unpack(_FORMATS[kind], bytes.fromhex(token["bits"]))
        else:
            value = float((token["decimal"] or token["name"]).replace("qnan", "nan"))
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

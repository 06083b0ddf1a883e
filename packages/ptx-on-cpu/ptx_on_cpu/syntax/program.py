"""Functions, instructions and variables of a PTX module, as they stand in its text."""

import re
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

# Packed types, by the bits of both elements together.
_PAIRS: Final = {"f16x2": 32, "bf16x2": 32, "u16x2": 32, "s16x2": 32, "e4m3x2": 16, "e5m2x2": 16}
_WIDTHS: Final = {"pred": 1, "bf16": 16, "tf32": 32} | _PAIRS
_TYPE: Final = re.compile(r"(?:[subft]+|u?e)\d+(?:[mf]\d+)?(?:x\d+)?")
_PLAIN: Final = re.compile(r"[sub](?:2|4|8|16|32|64)|b128|f(?:16|32|64)|e4m3|e5m2")


def is_unknown_type(modifier: str) -> bool:
    """Return whether a modifier is a type of later versions of PTX, for example `f32x2`."""
    return bool(_TYPE.fullmatch(modifier)) and modifier not in _WIDTHS and not _PLAIN.fullmatch(modifier)


def width(kind: str) -> int:
    """Return the bits of a PTX type, as of `s32`."""
    return _WIDTHS.get(kind) or int(kind[1:])


def aligned(offset: int, alignment: int) -> int:
    """Return the next multiple of `alignment` from `offset` on."""
    return -(-offset // alignment) * alignment


_EXACT: Final = re.compile(r"0(?:[fF]([0-9a-fA-F]{8})|[dD]([0-9a-fA-F]{16}))")
_INTEGER: Final = re.compile(r"([-+]?)(0[xX][0-9a-fA-F]+|0[bB][01]+|0[0-7]+|0|[1-9]\d*)U?")
_DECIMAL: Final = re.compile(r"[-+]?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?")


def literal(text: str, bits: int) -> int | None:
    """Return the value that a constant has in a register, of a float its bits; None for any other text.

    A constant in double precision is rounded to single precision where 32 bits are asked for.
    """
    if match := _INTEGER.fullmatch(text):
        digits = match[2]
        # Octal to PTX, which Python writes with a letter.
        is_octal = digits[0] == "0" and digits.isdigit()
        return int(match[1] + digits, 8 if is_octal else 0) & ((1 << bits) - 1)
    exact = _EXACT.fullmatch(text)
    if exact and exact[1]:
        return int(exact[1], 16) if bits == 32 else None
    if bits not in (32, 64) or not (exact or _DECIMAL.fullmatch(text)):
        return None
    number = struct.unpack(">d", bytes.fromhex(exact[2]))[0] if exact else float(text)
    if bits == 64:
        return int(exact[2], 16) if exact else struct.unpack("Q", struct.pack("d", number))[0]
    with np.errstate(over="ignore"):
        return int(np.float32(number).view(np.uint32))


@dataclass(frozen=True)
class Variable:
    """A variable: its state space, alignment and size in bytes, and initial values of type `item`."""

    name: str
    space: str
    align: int
    size: int
    content: Sequence[str] = ()
    item: str = "b8"


@dataclass(frozen=True)
class Instruction:
    """`@guard opcode operands`, at a line of the source, `file.py:12`."""

    opcode: str
    operands: tuple[str, ...]
    guard: str = ""
    line: str = ""

    @property
    def name(self) -> str:
        """Return the opcode without its modifiers: `add`."""
        return self.opcode.partition(".")[0]

    @property
    def modifiers(self) -> list[str]:
        """Return the modifiers: `["rn", "f32"]`."""
        return self.opcode.split(".")[1:]

    def __str__(self) -> str:
        guard = f"@{self.guard} " if self.guard else ""
        return f"{guard}{self.opcode} {', '.join(self.operands)}".strip()


@dataclass
class Function:
    """A kernel or a device function; `labels`: where in `body` a label stands."""

    name: str
    is_entry: bool
    results: list[Variable]
    params: list[Variable]
    registers: dict[str, str] = field(default_factory=dict)
    variables: list[Variable] = field(default_factory=list)
    body: list[Instruction] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)
    targets: dict[str, list[str]] = field(default_factory=dict)  # of an indexed branch


@dataclass(frozen=True)
class Program:
    """A module: functions with a body by name, and variables."""

    functions: Mapping[str, Function]
    variables: Sequence[Variable]


_NESTED: Final = re.compile(r"_ZN?(?=\d)")
# In mangled names each word stands behind its length (Itanium C++ ABI).
_LENGTH: Final = re.compile(r"\d+")


def readable(name: str) -> str:
    """Return the function's own name in a mangled one: `scale` for `_ZN6module5scaleB2v1E...`."""
    start = _NESTED.match(name)
    at, last = (start.end(), name) if start else (len(name), name)
    while length := _LENGTH.match(name, at):
        end = length.end() + int(length[0])
        last, at = name[length.end() : end], end
    return last

"""Instructions of PTX, with what the PTX ISA says that they compute, in plain Python.

An operand of type s32 is an int with a sign, one of b32 or u32 an int without; a result may be any int, of
which only as many bits count as the result has. `%d` is the result, `%a`, `%b`, `%c`, `%e` are operands.
"""

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

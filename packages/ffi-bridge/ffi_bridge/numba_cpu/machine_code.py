"""The finished machine code of one function, as instructions, their operands, and places in memory."""

from __future__ import annotations

import re
from typing import Any, Final, NamedTuple

from llvmlite import binding as llvm

from ffi_bridge.numba_cpu.internals import ALLOCATE, EXCEPTION

# What is the address of one of its operands, or of an element of the same array.
KEEPING: Final = {"getelementptr", "bitcast", "addrspacecast", "freeze", "phi", "select"}
_STEP: Final = re.compile(r"getelementptr [a-z ]*i8, ptr \S+, i64 (-?\d+)(?:,|$)")

Offset = int | None  # in bytes from where a pointer points; None: somewhere behind it


class Step(NamedTuple):
    """An instruction; values are numbered by LLVM's addresses of them."""

    value: int
    opcode: str
    operands: list[int]
    text: Any  # the instruction, whose text is made when it is needed


class Place(NamedTuple):
    """A place in memory: a value that points to its beginning, and how far from there."""

    memory: int
    offset: Offset

    def meets(self, other: Place) -> bool:
        """Return whether the two may be one place."""
        is_any = self.offset is None or other.offset is None
        return self.memory == other.memory and (is_any or self.offset == other.offset)


class Code:
    """The instructions of a function, read once."""

    def __init__(self, function: Any) -> None:
        self.arguments = [hash(x) for x in function.arguments]
        self.names = {hash(x): x.name for x in function.arguments}
        self.values: dict[int, Any] = {}
        self.steps: list[Step] = []
        for block in function.blocks:
            for x in block.instructions:
                operands = list(x.operands)
                numbers = [hash(y) for y in operands]
                self.values.update(zip(numbers, operands, strict=True))
                self.steps.append(step := Step(hash(x), x.opcode, numbers, x))
                if step.opcode == "alloca":
                    self.names[step.value] = x.name
        self._by_value = {step.value: step for step in self.steps}

    def step(self, value: int) -> Step | None:
        """Return the instruction whose result is `value`; None for an argument or a constant."""
        return self._by_value.get(value)

    def is_nothing(self, value: int) -> bool:
        """Return whether a value is a null pointer, or any value at all."""
        kinds = llvm.ValueKind
        nothing = {kinds.constant_pointer_null, kinds.undef_value, kinds.poison_value}
        return value in self.values and self.values[value].value_kind in nothing

    def function(self, value: int) -> str | None:
        """Return the name of the function that a value is; None for an address that is computed."""
        found = self.values[value]
        return found.name if found.value_kind == llvm.ValueKind.function else None

    def places(self, value: int, offset: Offset = 0, seen: frozenset[int] = frozenset()) -> set[Place]:
        """Return the places that an address may be, each from the beginning of its memory."""
        step = self.step(value)
        if step is None or value in seen or step.opcode not in KEEPING:
            return {Place(value, offset)} if value not in seen else set()
        if step.opcode == "getelementptr":
            found = _STEP.search(str(step.text).partition(", !")[0])
            further = None if found is None or offset is None else offset + int(found[1])
            return self.places(step.operands[0], further, seen)
        sources = step.operands[step.opcode == "select" :]
        offset = None if step.opcode == "phi" else offset
        return set().union(*(self.places(x, offset, seen | {value}) for x in sources))

    def is_own(self, memory: int) -> bool:
        """Return whether memory is the function's own, or where one of its arguments points."""
        step = self.step(memory)
        if step is None:
            return memory in self.arguments
        return step.opcode == "alloca" or (
            step.opcode == "call" and self.function(step.operands[-1]) == ALLOCATE
        )

    def is_of_exceptions(self, memory: int) -> bool:
        """Return whether memory is where Numba leaves what an exception is made of, and nobody else reads."""
        return str(self.names.get(memory, "")).startswith(EXCEPTION)

"""The finished machine code of one function, as instructions, their operands, and places in memory."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Set
from typing import Any, Final, NamedTuple

from llvmlite import binding as llvm

from ffi_bridge.numba_cpu.internals import ALLOCATE, EXCEPTION

# What is the address of one of its operands, or of an element of the same array.
KEEPING: Final = {"getelementptr", "bitcast", "addrspacecast", "freeze", "phi", "select"}
ADDRESS_BYTES: Final = 8
_INDICES: Final = re.compile(r"((?:, \d+)+)$")  # of a field, after all operands
_STEP: Final = re.compile(r"getelementptr [a-z ]*i8, ptr \S+, i64 (-?\d+)(?:,|$)")

UNKNOWN: Final = 0  # a value that a call may leave somewhere
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

    def behind(self, offset: Offset) -> Place:
        """Return the place that is `offset` bytes further."""
        return Place(self.memory, None if self.offset is None or offset is None else self.offset + offset)


_NOTHING: Final[Set[Place]] = frozenset()


class Code:
    """The instructions of a function, read once."""

    def __init__(self, function: Any) -> None:
        self.arguments = [hash(x) for x in function.arguments]
        self.names = {hash(x): x.name for x in function.arguments}
        self.values: dict[int, Any] = {}
        self.steps: list[Step] = []
        self._in_front: dict[int, tuple[int, int]] = {}  # a load -> its block, and how many steps come first
        self._blocks: dict[int, list[Step]] = {}
        self._touched: dict[int, dict[int, list[tuple[int, Step]]]] = {}
        # What the last search from a load has found, for what the calls on its way had left.
        self._stored: dict[int, tuple[dict[int, frozenset[Place]], set[tuple[int, int]]]] = {}
        self._layout = llvm.create_target_data(function.module.data_layout)
        # LLVM makes types, names and texts anew each time, and each array of a kernel asks for the same ones.
        self.places = functools.cache(self._places)
        # How many bytes a value takes in memory.
        self.bytes_of = functools.cache(lambda value: self._layout.get_abi_size(value.type))
        self.text_of = functools.cache(lambda value: str(self.values[value]))
        self.function = functools.cache(self._function)
        for block in function.blocks:
            steps = self._blocks[hash(block)] = list[Step]()
            for x in block.instructions:
                operands = list(x.operands)
                numbers = [hash(y) for y in operands]
                self.values.update(zip(numbers, operands, strict=True))
                self.values[hash(x)] = x
                steps.append(step := Step(hash(x), x.opcode, numbers, x))
                if step.opcode == "load":
                    self._in_front[step.value] = hash(block), len(steps) - 1
                if step.opcode == "alloca":
                    self.names[step.value] = x.name
            self.steps += steps
        self._by_value = {step.value: step for step in self.steps}
        self._before: dict[int, list[int]] = {block: [] for block in self._blocks}
        for block, steps in self._blocks.items():
            # The operands of the last instruction of a block are where it goes to.
            for following in self._before.keys() & set(steps[-1].operands):
                self._before[following].append(block)

    def step(self, value: int) -> Step | None:
        """Return the instruction whose result is `value`; None for an argument or a constant."""
        return self._by_value.get(value)

    def is_nothing(self, value: int) -> bool:
        """Return whether a value is a null pointer, or any value at all."""
        kinds = llvm.ValueKind
        nothing = {kinds.constant_pointer_null, kinds.undef_value, kinds.poison_value}
        return value in self.values and self.values[value].value_kind in nothing

    def _function(self, value: int) -> str | None:
        """Return the name of the function that a value is; None for an address that is computed."""
        callee = self.values[value]
        return callee.name if callee.value_kind == llvm.ValueKind.function else None

    def _places(self, value: int, offset: Offset = 0, seen: frozenset[int] = frozenset()) -> frozenset[Place]:
        """Return the places that an address may be, each from the beginning of its memory."""
        step = self.step(value)
        if step is None or value in seen or step.opcode not in KEEPING:
            return frozenset([Place(value, offset)] if value not in seen else [])
        if step.opcode == "getelementptr":
            match = _STEP.search(self.text_of(step.value).partition(", !")[0])
            further = None if match is None or offset is None else offset + int(match[1])
            return self.places(step.operands[0], further, seen)
        # The first operand of a `select` is its condition.
        sources = step.operands[step.opcode == "select" :]
        # In a loop a `phi` may add to the address in each turn.
        offset = None if step.opcode == "phi" else offset
        return frozenset().union(*(self.places(x, offset, seen | {value}) for x in sources))

    def slots(self, value: Any) -> set[int]:
        """Return all places in a value where an address may lie, in bytes from its beginning."""
        is_void = value.type.type_kind == llvm.TypeKind.void
        return set() if is_void else set(range(0, self.bytes_of(value), ADDRESS_BYTES))

    def slots_of_result(self, step: Step, held: Mapping[int, set[int]]) -> set[int]:
        """Return where an address lies in the result of a step; `held`: where it lies in its operands.

        A struct of an array has the address of its elements behind two of objects that own them.
        """
        of_operands = [held.get(x, set[int]()) for x in step.operands]
        if step.opcode in ("phi", "select", "freeze"):
            return set().union(*of_operands)
        if step.opcode not in ("insertvalue", "extractvalue"):
            return self.slots(step.text)
        struct = self.values[step.operands[0]]
        field = self.values[step.operands[1]] if step.opcode == "insertvalue" else step.text
        begin = self._begin(step, struct.type)
        end = begin + self.bytes_of(field)
        if step.opcode == "extractvalue":
            return {x - begin for x in of_operands[0] if begin <= x < end}
        return {x for x in of_operands[0] if not begin <= x < end} | {x + begin for x in of_operands[1]}

    def _begin(self, step: Step, struct: Any) -> int:
        """Return where the field of a struct, or of one in it, begins that a step reads or replaces."""
        # Without metadata, whose numbers would pass for indices.
        match = _INDICES.search(self.text_of(step.value).partition(", !")[0])
        begin = 0
        for index in map(int, match[1].split(",")[1:]) if match else ():
            elements = list(struct.elements)
            if struct.is_struct:
                begin += self._layout.get_element_offset(struct, index)
                struct = elements[index]
            else:
                struct = elements[0]
                begin += index * self._layout.get_abi_size(struct)
        return begin

    def is_on_stack(self, memory: int) -> bool:
        """Return whether memory is the function's own, on its stack."""
        step = self.step(memory)
        return step is not None and step.opcode == "alloca"

    def stored_before(self, load: Step, left: Mapping[int, set[Place]]) -> set[tuple[int, int]] | None:
        """Return the last stored values that a load from the stack may find; None where that is open.

        Each has how far into it the load begins. LLVM gives one place on the stack to several variables, one
        after the other. `left`: the places where calls leave an address, each of which stands for it;
        UNKNOWN: for what other calls may leave there.
        """
        if (found := self._stored.get(load.value)) is not None:
            calls, stored = found
            if all(left.get(call, _NOTHING) == there for call, there in calls.items()):
                return stored
        there = self.places(load.operands[0])
        # A wider value may hold several addresses.
        if len(there) != 1 or self.bytes_of(load.text) > ADDRESS_BYTES:
            return None
        (place,) = there
        if place.offset is None or not self.is_on_stack(place.memory):
            return None
        stored: set[tuple[int, int]] = set()
        calls: dict[int, frozenset[Place]] = {}
        touching = self._touching(place.memory)
        todo, seen = [self._in_front[load.value]], set[int]()
        for block, end in todo:  # which grows
            for number, step in reversed(touching.get(block, ())):
                if end < 0 or number < end:
                    if step.opcode == "call":
                        calls[step.value] = frozenset(left.get(step.value, ()))
                    effect = self._effect(place, step, left)
                    if effect is None:
                        return None
                    values, is_last = effect
                    stored |= values
                    if is_last:
                        break
            else:
                before = [x for x in self._before[block] if x not in seen]
                todo += [(x, -1) for x in before]
                seen.update(before)
        self._stored[load.value] = calls, stored
        return stored

    def _touching(self, memory: int) -> dict[int, list[tuple[int, Step]]]:
        """Return the stores to memory on the stack, and the calls that are given it, by block."""
        # Made when a load from the stack asks for it, as few kernels have one.
        if not self._touched:
            for block, steps in self._blocks.items():
                for number, step in enumerate(steps):
                    if step.opcode in ("store", "call"):
                        addresses = step.operands[1:] if step.opcode == "store" else step.operands[:-1]
                        for x in {x.memory for y in addresses for x in self.places(y)}:
                            self._touched.setdefault(x, {}).setdefault(block, []).append((number, step))
        return self._touched.get(memory, {})

    def _effect(
        self, place: Place, step: Step, left: Mapping[int, set[Place]]
    ) -> tuple[set[tuple[int, int]], bool] | None:
        """Return the values that a step may leave at a place, and whether none from before it is left."""
        if step.opcode == "store":
            size = self.bytes_of(self.values[step.operands[0]])
            there = [x.offset for x in self.places(step.operands[1]) if x.memory == place.memory]
            into = {None if x is None or place.offset is None else place.offset - x for x in there}
            if not any(x is None or 0 <= x < size for x in into):
                return set(), False
            first = into.pop()
            if first is None or into or len(self.places(step.operands[1])) > 1:
                return None
            return {(step.operands[0], first)}, True
        name = self.function(step.operands[-1]) or ""
        # At the begin of its life a place holds nothing from before.
        if name.startswith("llvm.lifetime."):
            return set(), "start" in name
        here = left.get(step.value, ())
        if place in here:
            return {(step.value, 0)}, True
        return {(UNKNOWN, 0), *((step.value, 0) for x in here if x.meets(place))}, False

    def is_own(self, memory: int) -> bool:
        """Return whether memory is the function's own, or where one of its arguments points."""
        step = self.step(memory)
        if step is None:
            return memory in self.arguments
        return step.opcode == "alloca" or (
            step.opcode == "call" and self.function(step.operands[-1]) == ALLOCATE
        )

    def is_of_exceptions(self, memory: int) -> bool:
        """Return whether Numba leaves the parts of an exception in this memory, which nobody else reads."""
        return str(self.names.get(memory, "")).startswith(EXCEPTION)

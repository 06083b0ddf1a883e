"""Floats whose bits pass through integers, in LLVM's text: followed where they are copied, or else refused.

To Enzyme an integer that is loaded has no derivative, unless Enzyme can tell that it is a float: after
`t[:] = x.view(np.int64)` the reverse mode of `t.view(np.float64)` would be zero, and nothing would say so. So
integers that only copy floats are marked as floats. Where the bits of a float are computed with, and what
comes out is a float again, there is a derivative that nobody follows.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Set
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from ffi_bridge.numba_cpu.derivatives.places import Line, Place, Places, size_of

_TYPED: Final = re.compile(
    r"(?P<type>.+?)(?: (?P<value>[^ ,]+))?, ptr (?P<address>[%@](?:\"[^\"]*\"|[\w.$-]+))"
)
_FLOAT: Final = re.compile(r"\b(float|double)\b")
_WIDTHS: Final = {"float": 4, "double": 8}
_INTEGER: Final = re.compile(r"i(8|16|32|64)")
# Buffers of floats, as the function around the kernel marks them.
_BUFFER: Final = re.compile(r'Float@(float|double)\}" (%[\w.]+)')
_RETURNS_FLOAT: Final = re.compile(r"(?:(?:fast|nnan|ninf|nsz|arcp|contract|afn|reassoc) )*(float|double) @")
_HANDED_ON: Final = ("phi", "select", "freeze", "bitcast")
# What is computed from bits, and is neither a float nor its bits.
_ENDS: Final = (
    "icmp",
    "fcmp",
    "fptosi",
    "fptoui",
    "getelementptr",
    "inttoptr",
    "load",
    "store",
    "br",
    "switch",
)
_CHANGED: Final = 0  # in place of the width of a float: its bits were computed with, or taken apart


class _Access(NamedTuple):
    places: Set[Place]
    width: int

    def overlaps(self, other: _Access) -> bool:
        return any(x.overlaps(y, self.width, other.width) for x in self.places for y in other.places)


@dataclass
class _Memory:
    """Bytes that are written, or known to be floats; `holds`: widths of the floats whose bits they may be."""

    access: _Access
    holds: set[int] = field(default_factory=set)


class Bits:
    """The integers of a module that hold the bits of floats; `entry`: the functions around the kernel."""

    def __init__(self, text: str, entry: str) -> None:
        self._places = places = Places(text + entry)
        self._values: dict[str, set[int]] = defaultdict(set)
        self._floats: dict[str, list[_Memory]] = defaultdict(list)
        self._integers: dict[str, list[_Memory]] = defaultdict(list)  # what integers are stored to
        self._at: dict[int, _Memory] = {}  # by the place of the instruction
        self._torn: set[int] = set()  # the places of what takes floats of one size for those of another
        for kind, name in _BUFFER.findall(entry):
            width = _WIDTHS[kind]
            buffer = {Place(f"@primal{name}", 0, width)}
            self._note(self._floats, _Memory(_Access(buffer, width), {width}))
        for i, line in enumerate(places.lines):
            if copied := places.copied(line):
                whole = {Place(x.memory, 0, 1) for x in places.of(copied[0])}
                self._at[i] = self._note(self._integers, _Memory(_Access(whole, 1)))
            elif line.opcode in ("load", "store") and (typed := _TYPED.match(line.rest)):
                access = _Access(places.of(line.named(typed["address"])), size_of(typed["type"]))
                if floats := {_WIDTHS[x] for x in _FLOAT.findall(typed["type"])}:
                    if any(x.holds != floats for x in self._overlapping(access, self._floats)):
                        self._torn.add(i)
                    self._note(self._floats, _Memory(access, floats))
                elif _INTEGER.fullmatch(typed["type"]):
                    self._at[i] = _Memory(access)
                    if line.opcode == "store":
                        self._note(self._integers, self._at[i])
        # To a fixed point; `sum`, since `any` would stop at the first line with something new.
        while sum(self._follow(i, line) for i, line in enumerate(places.lines)):
            pass

    def _note(self, where: dict[str, list[_Memory]], memory: _Memory) -> _Memory:
        for name in {x.memory for x in memory.access.places}:
            where[name].append(memory)
        return memory

    def _overlapping(self, access: _Access, *where: dict[str, list[_Memory]]) -> Iterator[_Memory]:
        for noted in where:
            for name in {x.memory for x in access.places}:
                yield from (x for x in noted[name] if x.access.overlaps(access))

    def _follow(self, i: int, line: Line) -> bool:
        """Add the effect of an instruction on bits; return whether something is new."""
        if i in self._at and line.opcode != "load":
            return _add(self._at[i].holds, self._stored(i, line))
        if not line.result:
            return False
        widths = self._values[line.named(line.result)]
        if i in self._at:
            access = self._at[i].access
            held = set().union(*(x.holds for x in self._overlapping(access, self._floats, self._integers)))
            # Read in another width, a float's bits are taken apart.
            return _add(widths, {x if x == access.width else _CHANGED for x in held})
        if line.opcode == "bitcast" and (floats := _FLOAT.match(line.rest)):
            return _add(widths, {_WIDTHS[floats[1]]} if "%" in line.rest else set())
        if line.opcode in _ENDS:
            return False
        operand_widths = self._operand_widths(line)
        return _add(widths, operand_widths if line.opcode in _HANDED_ON or not operand_widths else {_CHANGED})

    def _operand_widths(self, line: Line) -> set[int]:
        return set().union(*(self._values.get(x, set()) for x in line.operands))

    def _stored(self, i: int, line: Line) -> set[int]:
        if copied := self._places.copied(line):
            of = {Place(x.memory, 0, 1) for x in self._places.of(copied[1])}
            source = self._overlapping(_Access(of, 1), self._floats, self._integers)
            return set().union(*(x.holds for x in source))
        typed = _TYPED.match(line.rest)
        return self._values.get(line.named(typed["value"]), set()) if typed else set()

    @property
    def lost(self) -> Line | None:
        """Return an instruction by which bits that were computed with become a float again, if any."""
        return next((line for i, line in enumerate(self._places.lines) if self._loses(i, line)), None)

    def _loses(self, i: int, line: Line) -> bool:
        if i in self._at and line.opcode != "load":
            written = self._at[i]
            return _CHANGED in written.holds and any(self._overlapping(written.access, self._floats))
        if i in self._torn:
            return True
        operand_widths = self._operand_widths(line) if line.result else set()
        # A conversion computes with the bits as a number.
        if line.opcode in ("sitofp", "uitofp"):
            return bool(operand_widths)
        if line.opcode == "bitcast":
            return _CHANGED in operand_widths and bool(_FLOAT.search(line.rest.rpartition(" to ")[2]))
        return line.opcode == "call" and bool(operand_widths) and bool(_RETURNS_FLOAT.match(line.rest))

    def copies(self, function: str) -> set[str]:
        """Return the loads of integers in a function that copy floats, by name."""
        uses: dict[str, list[Line]] = defaultdict(list)
        for line in self._places.lines:
            for name in line.operands:
                uses[name].append(line)

        def is_stored(name: str, seen: set[str]) -> bool:
            if name in seen:
                return False
            seen.add(name)
            return any(
                x.opcode == "store" or (x.opcode in _HANDED_ON and is_stored(x.named(x.result), seen))
                for x in uses[name]
            )

        return {
            line.result
            for i, line in enumerate(self._places.lines)
            if line.opcode == "load" and i in self._at and line.function.strip('@"') == function
            if self._values[name := line.named(line.result)] == {self._at[i].access.width}
            and is_stored(name, set())
        }


def _add(widths: set[int], more: set[int]) -> bool:
    before = len(widths)
    widths |= more
    return len(widths) != before

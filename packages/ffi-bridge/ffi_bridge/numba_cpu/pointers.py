"""Follow the address of an array through the finished machine code of a kernel.

LLVM marks a pointer as read-only where it can. It gives up where an address is compared as a number, as
`y[:] = x` does to see whether the two overlap, lies in memory for a moment, as in the shares of a parallel
region, or goes to a function of a library. Here it is followed through these, until something is stored to
it, or it is lost.
"""

import functools
import re
from collections.abc import Iterator, Set
from dataclasses import dataclass, field
from typing import Any, Final

from ffi_bridge.numba_cpu.internals import PARALLEL_FOR, READING_FUNCTIONS
from ffi_bridge.numba_cpu.machine_code import KEEPING, Code, Offset, Place, Step

# LLVM's marks of a pointer that its function does not write through, itself or in what it calls.
NEVER_WRITTEN: Final = {b"readonly", b"readnone"}

# LLVM's marks of a pointer that its function does not keep, other than as a number; the first until LLVM 20.
_NEVER_KEPT: Final = {b"nocapture", b"captures(none)", b"captures(address)"}

# The intrinsics that write, and which operand is the address; others make something of one, if not a store.
_WRITERS: Final = {"llvm.memcpy.": 0, "llvm.memmove.": 0, "llvm.memset.": 0}
_WRITERS_OF_VECTORS: Final = {"llvm.masked.store.": 1, "llvm.masked.scatter.": 1}
_STORES: Final = re.compile(r"store|scatter|memset|memcpy|memmove")
_LOADS: Final = re.compile(r"load|gather")
# What has no address as its result: no program takes one apart into bits, or into halves of 32.
_OTHERS: Final = {"icmp", "fcmp", "br", "switch", "uitofp", "sitofp", "mul", "sdiv", "udiv", "srem", "urem"}
_NARROW: Final = re.compile(r"(= trunc .* to|= load) (<\d+ x )?(i[1-9]|i[12]\d|i3[012]|float|double)\b")


@dataclass
class Fate:
    """The fate of an address in a function.

    `stored`: something is stored to it; `maybe_stored`: to it, or to other memory; `lost`: where it went
    and cannot be followed; `kept`: it is left at these places of the function's arguments; `returned`.
    """

    stored: bool = False
    maybe_stored: bool = False
    lost: set[str] = field(default_factory=set[str])
    kept: set[tuple[int, Offset]] = field(default_factory=set[tuple[int, Offset]])
    returned: bool = False

    @property
    def is_read_only(self) -> bool:
        """Return whether nothing is stored to the address, now or by who has got it."""
        return not (self.stored or self.maybe_stored or self.lost or self.kept or self.returned)

    @property
    def whereabouts(self) -> str:
        """Return where the address is lost, or stored to, for a message."""
        if self.lost:
            return ", ".join(sorted(self.lost))
        return "a place that is in it or in other memory" if self.maybe_stored else "its own results"


class Followed:
    """The functions of a finished module, and the fates of their arguments, each followed once."""

    def __init__(self, module: Any) -> None:
        self._functions = {x.name: x for x in module.functions}
        self._marks = functools.cache(self._marks_of)
        self._codes: dict[str, Code] = {}
        self._fates: dict[tuple[str, int, Offset, bool], Fate] = {}

    def fate(self, function: str, argument: int, offset: Offset = 0, is_inside: bool = False) -> Fate:
        """Return the fate of an argument, or of the address that lies in the memory it points to."""
        key = function, argument, offset, is_inside
        if key not in self._fates:
            self._fates[key] = Fate(lost={"a function that calls itself"})  # while it is followed there
            if function not in self._codes:
                self._codes[function] = Code(self._functions[function])
            self._fates[key] = _Walk(self, self._codes[function]).run(argument, offset, is_inside)
        return self._fates[key]

    def _marks_of(self, function: str) -> list[set[bytes]]:
        """Return LLVM's marks of each argument of a function."""
        return [set(x.attributes) for x in self._functions[function].arguments]

    def is_defined(self, function: str) -> bool:
        """Return whether the machine code of a function is in the module."""
        return not self._functions[function].is_declaration

    def only_reads(self, function: str, argument: int) -> bool:
        """Return whether LLVM has marked an argument as one that its function reads, and no more."""
        marks = self._marks(function)[argument]
        return bool(marks & NEVER_WRITTEN and marks & _NEVER_KEPT)

    def reads(self, function: str, argument: int, is_inside: bool) -> bool:
        """Return whether a function from elsewhere is known not to store to an address that it is given.

        `is_inside`: that it is given memory where the address lies, of which LLVM's marks say nothing.
        """
        marks = self._marks(function)[argument : argument + 1]
        is_marked = not is_inside and any(x & NEVER_WRITTEN for x in marks)
        return is_marked or argument in READING_FUNCTIONS.get(function, ())


class _Walk:
    """An address on its way through one function: the values that have it, and the places where it lies."""

    def __init__(self, followed: Followed, code: Code) -> None:
        self._followed, self._code, self._fate = followed, code, Fate()
        self._held: dict[int, set[int]] = {}  # values that have it, and where in each, in bytes
        self._places: set[Place] = set()
        self._left_by: dict[int, set[Place]] = {}  # by calls, which stand for the address there
        self._now: Step | None = None
        self._referring: set[int] = set()  # memory with the addresses of memory where it lies

    def run(self, argument: int, offset: Offset, is_inside: bool) -> Fate:
        root = self._code.arguments[argument]
        if is_inside or offset is None:
            self._places.add(Place(root, offset))
        else:
            self._held[root] = {offset}
        count = 0
        # A loop may hand an address to instructions before it: until nothing is new.
        while count != (count := self._count()):
            for step in self._code.steps:
                self._take(step)
        return self._fate

    def _count(self) -> int:
        """Return how much is known of the address, which only grows."""
        return sum(map(len, (*self._held.values(), self._places, self._referring, *self._left_by.values())))

    def _take(self, step: Step) -> None:
        value, opcode, operands = step.value, step.opcode, step.operands
        self._now = step
        if opcode == "call":
            self._call(value, operands)
        elif opcode == "store":
            self._write(operands[1])
            at = self._held.get(operands[0], ())
            self._keep({x.behind(y) for x in self._code.places(operands[1]) for y in at})
            if self._reaches(operands[0]):
                self._refer(self._code.places(operands[1]))
        elif opcode in ("load", "trunc") and _NARROW.search(self._code.text_of(value)):
            return
        elif opcode == "load":
            self._hold(value, self._loaded(step))
            if any(x.memory in self._referring for x in self._code.places(operands[0])):
                self._fate.lost.add("memory that refers to memory")
        elif opcode in ("atomicrmw", "cmpxchg"):
            self._write(operands[0])
            if not self._held.keys().isdisjoint(operands[1:]):
                self._fate.lost.add("an atomic operation")
        elif opcode in ("insertvalue", "insertelement", "ptrtoint") and any(map(self._reaches, operands)):
            self._fate.lost.add("memory that refers to memory")
        elif not self._held.keys().isdisjoint(operands):
            self._fate.returned |= opcode == "ret"
            if opcode not in _OTHERS:  # `ret` has no result
                self._hold(value, self._code.slots_of_result(step, self._held))

    def _hold(self, value: int, where: set[int]) -> None:
        if where:
            self._held.setdefault(value, set()).update(where)

    def _loaded(self, load: Step) -> set[int]:
        """Return where the address lies in a loaded value."""
        stored = self._code.stored_before(load, self._left_by)
        if stored is not None:
            is_found = any(x in self._left_by or at in self._held.get(x, ()) for x, at in stored)
            return {0} if is_found else set()
        inside, size = self._inside(load.operands[0]), self._code.bytes_of(load.text)
        if None in inside:
            return self._code.slots(load.text)
        return {x for x in inside if x is not None and 0 <= x < size}

    def _write(self, address: int) -> None:
        if address in self._held:
            certain = self._is_this_alone(address, set())
            self._fate.stored |= certain
            self._fate.maybe_stored |= not certain

    def _is_this_alone(self, value: int, seen: set[int]) -> bool:
        """Return whether an address is the followed one, whichever way led to it."""
        step = self._code.step(value)
        if value in seen or self._code.is_nothing(value):
            return True
        if value not in self._held or step is None:
            return value in self._held
        if step.opcode == "load":
            return self._is_loaded_alone(step, seen | {value})
        seen.add(value)
        if step.opcode not in KEEPING:
            return False
        sources = {"getelementptr": step.operands[:1], "select": step.operands[1:]}
        return all(self._is_this_alone(x, seen) for x in sources.get(step.opcode, step.operands))

    def _is_loaded_alone(self, load: Step, seen: set[int]) -> bool:
        stored = self._code.stored_before(load, self._left_by)
        if stored is not None:
            return all(x in self._left_by or self._is_this_alone(x, seen) for x, _ in stored)
        return not any(self._code.is_on_stack(x.memory) for x in self._code.places(load.operands[0]))

    def _inside(self, address: int) -> list[Offset]:
        """Return how far from an address in memory the followed one lies."""
        pairs = [(at, x) for at in self._code.places(address) for x in self._places if x.memory == at.memory]
        return [None if x.offset is None or at.offset is None else x.offset - at.offset for at, x in pairs]

    def _keep(self, places: Set[Place]) -> None:
        """Leave the address at one of these places."""
        for place in places:
            if not self._code.is_own(place.memory):
                self._fate.lost.add("memory that outlasts it, as that of a list")
                continue
            self._places.add(place)
            if self._now is not None and self._now.opcode == "call":
                self._left_by.setdefault(self._now.value, set()).add(place)
            if place.memory in self._code.arguments:
                self._fate.kept.add((self._code.arguments.index(place.memory), place.offset))

    def _reaches(self, value: int) -> bool:
        """Return whether a value is the address of memory from which one comes to the address."""
        memory = {x.memory for x in self._places} | self._referring
        return any(x.memory in memory for x in self._code.places(value))

    def _refer(self, places: Set[Place]) -> None:
        """Leave the address of followed memory at one of these places: of an exception, that is its end."""
        for memory in {x.memory for x in places if not self._code.is_of_exceptions(x.memory)}:
            if self._code.is_own(memory) and memory not in self._code.arguments:
                self._referring.add(memory)
            else:
                self._fate.lost.add("memory that refers to memory")

    def _call(self, value: int, operands: list[int]) -> None:
        *arguments, callee = operands
        name = self._code.function(callee)
        if name is not None and name.startswith("llvm."):
            self._intrinsic(value, name, arguments)
        # Its first argument is the function that the threads run, on the four that follow.
        elif name == PARALLEL_FOR:
            self._enter(self._code.function(arguments[0]), arguments[1:5], value)
        else:
            self._enter(name, arguments, value)

    def _intrinsic(self, value: int, name: str, arguments: list[int]) -> None:
        writers = _WRITERS | _WRITERS_OF_VECTORS
        kind = next((x for x in writers if name.startswith(x)), None)
        if kind is not None:
            self._write(arguments[writers[kind]])
        if kind in _WRITERS:
            if "memset" not in name:
                inside = self._inside(arguments[1])
                self._keep({x.behind(y) for x in self._code.places(arguments[0]) for y in inside})
        elif _STORES.search(name):
            if not self._held.keys().isdisjoint(arguments[:1] if kind else arguments):
                self._fate.lost.add(name)
        elif not self._held.keys().isdisjoint(arguments) and not _LOADS.search(name):
            self._hold(value, self._code.slots(self._code.values[value]))

    def _enter(self, callee: str | None, arguments: list[int], value: int) -> None:
        """Follow the address into a function that is called with it, or with memory where it lies."""
        for number, operand in enumerate(arguments):
            if any(x.memory in self._referring for x in self._code.places(operand)):
                self._fate.lost.add("memory that refers to memory")
            fates = [self._of_callee(callee, number, offset, True) for offset in self._inside(operand)]
            fates += [self._of_callee(callee, number, at, False) for at in self._held.get(operand, ())]
            for fate in fates:
                self._fate.stored |= fate.stored
                self._fate.maybe_stored |= fate.maybe_stored
                self._fate.lost |= fate.lost
                if fate.returned:
                    self._hold(value, self._code.slots(self._code.values[value]))
                for place in self._left(arguments, fate):
                    self._keep({place})

    def _left(self, arguments: list[int], fate: Fate) -> Iterator[Place]:
        """Yield the places where a function that is called has left the address."""
        for argument, offset in fate.kept:
            yield from (at.behind(offset) for at in self._code.places(arguments[argument]))

    def _of_callee(self, callee: str | None, number: int, offset: Offset, is_inside: bool) -> Fate:
        if callee is None:
            return Fate(lost={"a function that is known by its address alone"})
        if self._followed.is_defined(callee):
            if not is_inside and self._followed.only_reads(callee, number):
                return Fate()
            return self._followed.fate(callee, number, offset, is_inside)
        return Fate() if self._followed.reads(callee, number, is_inside) else Fate(lost={callee})

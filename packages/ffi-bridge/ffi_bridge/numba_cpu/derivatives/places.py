"""Where the addresses in LLVM's text lead to: into which memory, and to which bytes of it."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

_VALUE: Final = r"%(?:\"[^\"]*\"|[\w.$-]+)"
_ADDRESS: Final = r"(?:%|@)(?:\"[^\"]*\"|[\w.$-]+)"
VALUES: Final = re.compile(_VALUE)
_FUNCTION: Final = re.compile(
    r"^define [^\n]*?(@(?:\"[^\"]+\"|[\w.$-]+))\(([^\n]*)\)[^\n]*\{\n(.*?)^\}\n", re.M | re.S
)
_LINE: Final = re.compile(
    rf"^ +(?:(?P<result>{_VALUE}) = )?(?:(?:tail|musttail|notail) )?(?P<opcode>[a-z]+) ?(?P<rest>.*)$", re.M
)
_LOAD: Final = re.compile(rf"(?P<type>.+?), ptr (?P<address>{_ADDRESS})")
_STORE: Final = re.compile(rf"(?P<type>.+?) (?P<value>[^ ]+), ptr (?P<address>{_ADDRESS})")
_PART: Final = re.compile(
    rf"(?:(?:inbounds|nuw|nusw) )*(?P<type>.+?), ptr (?P<address>{_ADDRESS})(?P<indices>(?:, i\d+ [^\s,]+)*)"
)
_CALL: Final = re.compile(r"[^\n]*?(@(?:\"[^\"]+\"|[\w.$-]+))\((.*)\)")
_COPY: Final = re.compile(rf"ptr [^%@]*({_ADDRESS}), ptr [^%@]*({_ADDRESS})")
_SCALED: Final = re.compile(r"(?P<how>shl|mul) (?:nuw |nsw )*i\d+ %[^,]+, (?P<by>\d+)")
_ALLOCATES: Final = re.compile(r"@(malloc|calloc|realloc)")
_TYPE: Final = re.compile(r"i(\d+)|ptr|float|double")
_MANY: Final = re.compile(r"[\[<](\d+) x (.+)[\]>]")
_MOST: Final = 4  # places in one memory that an address is followed to; more are one place and its multiples


class Line(NamedTuple):
    """An instruction: the name of its result, its opcode, and the rest of its text."""

    function: str
    result: str
    opcode: str
    rest: str

    def named(self, name: str) -> str:
        """Return a value of the same function, or a global one, as a name in the module."""
        return name if name.startswith("@") else self.function + name

    @property
    def operands(self) -> list[str]:
        return [self.named(x) for x in VALUES.findall(self.rest)]


class Place(NamedTuple):
    """Bytes of a memory: `offset`, and, where `stride` is not 0, all that are multiples of it further on."""

    memory: str
    offset: int
    stride: int

    def overlaps(self, other: Place, width: int, other_width: int) -> bool:
        """Return whether numbers of these widths may have a byte in common."""
        if self.memory != other.memory:
            return False
        apart, stride = self.offset - other.offset, math.gcd(self.stride, other.stride)
        if not stride:
            return -width < apart < other_width
        ends_before = not self.stride and apart <= -width
        if ends_before or (not other.stride and apart >= other_width):
            return False  # in front of where the other one begins
        rest = apart % stride
        return rest < other_width or stride - rest < width


class Places:
    """The instructions of a module, and where addresses lead to."""

    def __init__(self, text: str) -> None:
        self.lines = list(_lines(text))
        self._places: dict[str, set[Place]] = defaultdict(set)
        self._parameters = {
            name.replace('"', ""): _parameters(name, parameters_text)
            for name, parameters_text, _ in _FUNCTION.findall(text)
        }
        self._defined = {x.named(x.result): x for x in self.lines if x.result}
        self._stored: dict[Place, set[Place]] = defaultdict(set)
        called = {match[1].replace('"', "") for x in self.lines if (match := _called(x))}
        for name, parameters in self._parameters.items():
            for x in parameters if name not in called else ():
                self._add(x, [Place(x, 0, 0)])
        # To a fixed point; `sum`, since `any` would stop at the first line with something new.
        while sum(map(self._followed, self.lines)):
            pass

    def of(self, name: str) -> set[Place]:
        """Return the places that a value may be the address of."""
        # A name without % is a global one, which is itself an address.
        return self._places.get(name, set()) if "%" in name else {Place(name, 0, 0)}

    def _add(self, name: str, places: Iterable[Place]) -> bool:
        merged, before = self._places[name], len(self._places[name])
        merged.update(places)
        for memory in {x.memory for x in merged}:
            inside = sorted(x for x in merged if x.memory == memory)
            if len(inside) > _MOST:
                first = inside[0].offset
                steps = math.gcd(*(x.offset - first for x in inside), *(x.stride for x in inside))
                merged.difference_update(inside)
                merged.add(Place(memory, first, steps))
        return len(merged) != before

    def _followed(self, line: Line) -> bool:
        """Add the places that an instruction gives to addresses; return whether something is new."""
        name = line.named(line.result) if line.result else ""
        if line.opcode == "store":
            match = _STORE.match(line.rest)
            return bool(match) and self._store(
                line.named(match["address"]), self.of(line.named(match["value"]))
            )
        if line.opcode == "call":
            return self._called(line, name)
        if line.opcode == "alloca":
            return self._add(name, [Place(name, 0, 0)])
        if line.opcode == "load":
            match = _LOAD.match(line.rest)
            if match is None or match["type"] not in ("ptr", "i64"):
                return False
            at = self.of(line.named(match["address"]))
            loaded = (held for x, held in self._stored.items() if any(x.overlaps(y, 8, 8) for y in at))
            return self._add(name, set().union(*loaded))
        if line.opcode == "getelementptr":
            return self._add(name, self._elements(line))
        # What a comparison results in leads nowhere.
        if not name or line.opcode in ("icmp", "fcmp"):
            return False
        return self._add(name, set().union(*(self._places.get(x, set()) for x in line.operands)))

    def _store(self, address: str, values: set[Place]) -> bool:
        new = False
        for place in self.of(address) if values else ():
            before = len(self._stored[place])
            self._stored[place].update(values)
            new |= len(self._stored[place]) != before
        return new

    def _called(self, line: Line, name: str) -> bool:
        match = _called(line)
        if match is None:
            return False
        called, arguments = match[1].replace('"', ""), match[2]
        if _ALLOCATES.fullmatch(called):
            return self._add(name, [Place(name, 0, 0)])
        if copied := self.copied(line):
            to, of = copied
            held = [
                y for x, y in self._stored.items() if any(x.memory == place.memory for place in self.of(of))
            ]
            return self._store(to, set().union(*held))
        operands = line.operands
        # A function from elsewhere may return any address that it was given.
        if called not in self._parameters:
            return bool(name) and self._add(
                name, set().union(*(self._places.get(x, set()) for x in operands))
            )
        named = [line.named(x.split()[-1]) for x in _split(arguments)]
        new = [self._add(x, self.of(y)) for x, y in zip(self._parameters[called], named, strict=False)]
        return any(new)

    def copied(self, line: Line) -> tuple[str, str] | None:
        """Return the addresses to and from which a call copies memory; None for any instruction else."""
        if line.opcode != "call" or not re.search(r"@(llvm\.)?mem(cpy|move)\b", line.rest):
            return None
        match = _COPY.search(line.rest)
        return None if match is None else (line.named(match[1]), line.named(match[2]))

    def _elements(self, line: Line) -> Iterator[Place]:
        match = _PART.match(line.rest)
        if match is None:
            return
        offset, stride, kind = 0, 0, match["type"]
        for i, index in enumerate(re.findall(r", i\d+ ([^\s,]+)", match["indices"])):
            many = _MANY.fullmatch(kind) if i else None
            if i and many is None:
                inside, kind = list(_members(kind))[int(index)]
                offset += inside
                continue
            kind = many[2] if many else kind
            if index.lstrip("-").isdigit():
                offset += size_of(kind) * int(index)
            else:
                stride = math.gcd(stride, size_of(kind) * self._multiple(line.named(index)))
        for place in self.of(line.named(match["address"])):
            yield Place(place.memory, place.offset + offset, math.gcd(place.stride, stride))

    def _multiple(self, index: str) -> int:
        """Return of which number an index is a multiple."""
        line = self._defined.get(index)
        match = _SCALED.match(f"{line.opcode} {line.rest}") if line else None
        if match is None:
            return 1
        return 1 << int(match["by"]) if match["how"] == "shl" else int(match["by"])


def _called(line: Line) -> re.Match[str] | None:
    return _CALL.match(line.rest) if line.opcode == "call" else None


def _lines(text: str) -> Iterator[Line]:
    for name, _, body in _FUNCTION.findall(text):
        for match in _LINE.finditer(body):
            yield Line(name, match["result"] or "", match["opcode"], match["rest"])


def _parameters(function: str, text: str) -> list[str]:
    return [function + x.split()[-1] for x in _split(text)]


def size_of(kind: str) -> int:
    """Return how many bytes a type has."""
    if match := _TYPE.fullmatch(kind):
        # A single bit takes a byte, too.
        return {"float": 4}.get(kind, 8) if match[1] is None else max(1, int(match[1]) // 8)
    if match := _MANY.fullmatch(kind):
        return int(match[1]) * size_of(match[2])
    members = list(_members(kind))
    end = members[-1][0] + size_of(members[-1][1]) if members else 0
    # Rounded up, so that in an array of them the next one is aligned, too.
    return -(-end // _alignment(kind)) * _alignment(kind)


def _alignment(kind: str) -> int:
    if _TYPE.fullmatch(kind):
        return size_of(kind)
    if match := _MANY.fullmatch(kind):
        return _alignment(match[2])
    return 1 if kind.startswith("<{") else max((_alignment(x) for _, x in _members(kind)), default=1)


def _members(kind: str) -> Iterator[tuple[int, str]]:
    """Yield offset and type of each member of a structure."""
    packed, offset = kind.startswith("<{"), 0
    for part in _split(kind[2:-2] if packed else kind[1:-1]):
        if not packed:
            offset = -(-offset // _alignment(part)) * _alignment(part)
        yield offset, part
        offset += size_of(part)


def _split(text: str) -> Iterator[str]:
    depth, part = 0, ""
    for x in text:
        depth += (x in "[{<") - (x in "]}>")
        if x == "," and not depth:
            yield part.strip()
            part = ""
        else:
            part += x
    if part.strip():
        yield part.strip()

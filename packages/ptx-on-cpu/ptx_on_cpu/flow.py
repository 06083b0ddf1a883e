"""The flow of control and of values through a function: basic blocks, loops, live registers."""

from __future__ import annotations

import bisect
import functools
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from ptx_on_cpu.errors import PtxSyntaxError
from ptx_on_cpu.syntax.program import Function, Instruction

_TOKEN: Final = re.compile(r"[%$\w.]+")
_ENDS: Final = ("ret", "exit", "trap")
_BRANCHES: Final = ("bra", "brx")
_WITHOUT_RESULT: Final = frozenset(
    {
        *("st", "red", "bra", "brx", "ret", "exit", "trap", "call", "membar", "fence", "prefetch"),
        *("prefetchu", "nanosleep", "brkpt", "bar", "barrier", "cp", "griddepcontrol", "discard"),
        *("applypriority", "pmevent"),
    }
)


def has_result(instruction: Instruction) -> bool:
    """Return whether the first operand is written."""
    if instruction.name in ("bar", "barrier"):
        # The first operand of any other barrier is its number.
        return "red" in instruction.modifiers
    return bool(instruction.operands) and instruction.name not in _WITHOUT_RESULT


def targets_of(function: Function, instruction: Instruction) -> Sequence[str]:
    """Return the labels that an instruction may jump to."""
    if instruction.name == "bra":
        return instruction.operands[:1]
    return function.targets[instruction.operands[1]] if instruction.name == "brx" else ()


@dataclass(frozen=True)
class Flow:
    """Basic blocks of a function, numbered in the order of its text; `starts`: their first instructions."""

    function: Function
    starts: tuple[int, ...]
    successors: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, function: Function) -> Flow:
        """Divide a function into basic blocks."""
        body = function.body
        leaders = {0, *function.labels.values()}
        leaders |= {at + 1 for at, each in enumerate(body) if each.name in (*_BRANCHES, *_ENDS)}
        starts = tuple(sorted(at for at in leaders if at < len(body)))
        number = {start: block for block, start in enumerate(starts)}
        number[len(body)] = len(starts)  # the end of the function, which has no block
        successors = tuple(
            tuple(number[at] for at in _next(function, end - 1) if at < len(body))
            for end in (*starts[1:], len(body))[: len(starts)]
        )
        return cls(function, starts, successors)

    @functools.cached_property
    def blocks(self) -> tuple[range, ...]:
        """Return the instructions of each block."""
        ends = (*self.starts[1:], len(self.function.body))
        return tuple(range(start, end) for start, end in zip(self.starts, ends, strict=False))

    @functools.cached_property
    def backward_edges(self) -> frozenset[tuple[int, int]]:
        """Return the edges that close a loop: to a block that a depth-first walk has not left yet."""
        edges: set[tuple[int, int]] = set()
        # Without recursion, since a generated kernel may have thousands of blocks.
        open_, seen = {0}, {0}
        stack = [(0, iter(self.successors[0]))] if self.starts else []
        while stack:
            block, rest = stack[-1]
            following = next(rest, None)
            if following is None:
                open_.discard(block)
                stack.pop()
            elif following in open_:
                edges.add((block, following))
            elif following not in seen:
                seen.add(following)
                open_.add(following)
                stack.append((following, iter(self.successors[following])))
        return frozenset(edges)

    @functools.cached_property
    def loops(self) -> dict[int, frozenset[int]]:
        """Return the blocks of each loop, by its header; inner loops are parts of outer ones."""
        members: dict[int, set[int]] = {}
        for last, header in sorted(self.backward_edges):
            inside = members.setdefault(header, {header})
            # All blocks from which the way back is reached without the header.
            stack = [last]
            while stack:
                block = stack.pop()
                if block not in inside:
                    inside.add(block)
                    stack += self.predecessors[block]
        return {header: frozenset(inside) for header, inside in members.items()}

    @functools.cached_property
    def predecessors(self) -> list[list[int]]:
        """Return the blocks before each one."""
        predecessors: list[list[int]] = [[] for _ in self.starts]
        for block, following in enumerate(self.successors):
            for each in following:
                predecessors[each].append(block)
        return predecessors

    def live_after(self, pc: int) -> list[str]:
        """Return the registers whose values may be read after instruction `pc`."""
        block = bisect.bisect_right(self.starts, pc) - 1
        live = functools.reduce(int.__or__, (self._live_in[x] for x in self.successors[block]), 0)
        for at in reversed(range(pc + 1, self.blocks[block].stop)):
            live = self._reads[at] | (live & ~self._writes[at])
        return self._names(live)

    def live_into(self, block: int) -> list[str]:
        """Return the registers whose values may be read from the begin of a block on."""
        return self._names(self._live_in[block])

    def _names(self, live: int) -> list[str]:
        return [name for i, name in enumerate(self.function.registers) if live >> i & 1]

    @functools.cached_property
    def _order(self) -> dict[str, int]:
        return {name: 1 << i for i, name in enumerate(self.function.registers)}

    def _set_of(self, texts: Iterable[str]) -> int:
        tokens = {token for text in texts for token in _TOKEN.findall(text)}
        return sum(self._order[token] for token in tokens & self._order.keys())

    @functools.cached_property
    def _reads(self) -> list[int]:
        reads: list[int] = []
        for each in self.function.body:
            read = each.operands[1:] if has_result(each) else each.operands
            reads.append(self._set_of((each.guard, *read)))
        return reads

    @functools.cached_property
    def _writes(self) -> list[int]:
        # What a guarded instruction would write may keep its value.
        return [
            self._set_of(each.operands[:1]) if has_result(each) and not each.guard else 0
            for each in self.function.body
        ]

    @functools.cached_property
    def _live_in(self) -> list[int]:
        """Return the live registers at the begin of each block, as bits."""
        read, written = [], []
        for pcs in self.blocks:
            reads = writes = 0
            for pc in pcs:
                reads |= self._reads[pc] & ~writes
                writes |= self._writes[pc]
            read.append(reads)
            written.append(writes)
        live = [0] * len(self.starts)
        changed = True
        while changed:
            changed = False
            # Against the flow of control, as life of registers goes: few rounds are needed.
            for block in reversed(range(len(self.starts))):
                after = functools.reduce(int.__or__, (live[x] for x in self.successors[block]), 0)
                before = read[block] | (after & ~written[block])
                changed |= before != live[block]
                live[block] = before
        return live


def _next(function: Function, last: int) -> Iterator[int]:
    """Yield the instructions that may follow instruction `last`."""
    each = function.body[last]
    for label in targets_of(function, each):
        if label not in function.labels:
            raise PtxSyntaxError(
                f"{function.name} branches to {label}, a label that it does not have; NVVM at times loses "
                "one where it writes line numbers: compile without them"
            )
        yield function.labels[label]
    if each.guard or each.name not in (*_BRANCHES, *_ENDS):
        yield last + 1

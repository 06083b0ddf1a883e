"""Find what a thread comes to once it has passed a meeting by, or has left the loops around it.

A meeting is an instruction at which threads wait for each other. Where its block is left out on the way, the
thread comes to the first block that lies behind it on every way; ways that only return do not count. A thread
that has been there more often than one that waits at the meeting has passed it by.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from ptx_on_cpu.flow import Flow
from ptx_on_cpu.syntax.program import Instruction

_LEAVES: Final = ("ret", "exit", "bra")


@dataclass(frozen=True)
class Mark:
    """A block behind a meeting; `again`: whether a turn of the loop that it begins counts, too."""

    block: int
    again: bool


def can_be_passed(each: Instruction) -> bool:
    """Return whether an instruction waits for all threads of a block, or for lanes that a mask names."""
    parts, count = each.parts, len(each.operands)
    if each.name in ("bar", "barrier"):
        return "warp" in parts or ("sync" in parts and count < 2) or ("red" in parts and count < 4)
    return each.name in ("shfl", "vote", "match", "redux", "elect") and "sync" in parts


class Passing:
    """The marks of the meetings of a function."""

    def __init__(self, flow: Flow) -> None:
        self._flow = flow

    def marks(self, block: int) -> tuple[Mark | None, Mark | None]:
        """Return the marks of meetings in a block: the next block behind it, and that behind its loops."""
        around = [blocks for blocks in self._flow.loops.values() if block in blocks]
        chain = list(self._behind(block))
        inner = next(iter(chain), None)
        outer = next((x for x in chain if not any(x in blocks for blocks in around)), None)
        is_header = inner is not None and block in self._flow.loops.get(inner, ())
        return (
            None if inner is None else Mark(inner, is_header),
            None if outer is None or outer == inner else Mark(outer, again=False),
        )

    def _behind(self, block: int) -> Iterator[int]:
        """Yield the blocks that lie behind a block on every way, the nearest first."""
        if not self._ends >> block & 1:
            return
        rest = self._post_dominators[block] & ~(1 << block)
        found = [x for x in range(len(self._flow.starts)) if rest >> x & 1]
        yield from sorted(found, key=lambda x: -self._post_dominators[x].bit_count())

    @functools.cached_property
    def _following(self) -> list[list[int]]:
        """Return the blocks after each one, without those that only return, or trap."""
        flow, returns = self._flow, set[int]()
        names = [[flow.function.body[pc].name for pc in pcs] for pcs in flow.blocks]
        for _ in range(2):  # a jump to a return is one
            for block in reversed(range(len(names))):
                leaves = all(name in _LEAVES for name in names[block])
                if names[block][-1] == "trap" or (leaves and returns.issuperset(flow.successors[block])):
                    returns.add(block)
        return [[x for x in following if x not in returns] for following in flow.successors]

    @functools.cached_property
    def _ends(self) -> int:
        """Return the blocks from which a way leads to an end, as bits."""
        found = sum(1 << block for block, following in enumerate(self._following) if not following)
        before = -1
        while found != before:
            before = found
            for block, following in enumerate(self._following):
                found |= any(found >> x & 1 for x in following) << block
        return found

    @functools.cached_property
    def _post_dominators(self) -> list[int]:
        """Return, for each block, the blocks that lie on every way from it to an end, as bits."""
        count = len(self._following)
        found = [
            (1 << count) - 1 if following else 1 << block for block, following in enumerate(self._following)
        ]
        changed = True
        while changed:
            changed = False
            for block in reversed(range(count)):
                if following := self._following[block]:
                    common = functools.reduce(int.__and__, (found[x] for x in following)) | 1 << block
                    changed |= common != found[block]
                    found[block] = common
        return found

"""Find the instructions that a thread reaches after a meeting, or after the loops around it.

A meeting is an instruction at which threads wait for each other. Behind its block lie those that every way
from it comes to; ways that only return do not count. A thread that leaves a meeting out comes to one of them,
and has then been behind the meeting more often than a thread that waits there.
"""

import functools
from collections.abc import Sequence
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
    modifiers, count = each.modifiers, len(each.operands)
    # A barrier with a number of threads may be left out by the rest.
    if each.name in ("bar", "barrier"):
        return (
            "warp" in modifiers or ("sync" in modifiers and count < 2) or ("red" in modifiers and count < 4)
        )
    return each.name in ("shfl", "vote", "match", "redux", "elect") and "sync" in modifiers


class Passing:
    """The marks of the meetings of a function."""

    def __init__(self, flow: Flow) -> None:
        self._flow = flow

    def marks(self, block: int) -> tuple[Mark, ...]:
        """Return the blocks behind a meeting of this block that a thread can reach without it.

        They are those that can be reached without the ones before them, and those that leave a loop.
        """
        around = [blocks for blocks in self._flow.loops.values() if block in blocks]
        result, before = list[Mark](), block
        for each in self._behind(block):
            is_exit = any(before in blocks and each not in blocks for blocks in around)
            if is_exit or not self._dominators[each] >> before & 1:
                result.append(Mark(each, again=block in self._flow.loops.get(each, ())))
            before = each
        return tuple(result)

    def _behind(self, block: int) -> list[int]:
        """Return the blocks that lie behind a block on every way, the nearest first."""
        rest = self._post_dominators[block] & ~(1 << block)
        blocks = [x for x in range(len(self._flow.starts)) if rest >> x & 1]
        # The nearest one has all others behind it, too.
        return sorted(blocks, key=lambda x: -self._post_dominators[x].bit_count())

    @functools.cached_property
    def _following(self) -> list[list[int]]:
        """Return the blocks after each one, without blocks that only return or trap."""
        flow, returns = self._flow, set[int]()
        names = [[flow.function.body[pc].name for pc in pcs] for pcs in flow.blocks]
        for _ in range(2):  # a jump to a return is one
            for block in reversed(range(len(names))):
                leaves = all(name in _LEAVES for name in names[block])
                if names[block][-1] == "trap" or (leaves and returns.issuperset(flow.successors[block])):
                    returns.add(block)
        return [[x for x in following if x not in returns] for following in flow.successors]

    @functools.cached_property
    def _post_dominators(self) -> list[int]:
        """Return, for each block, the blocks that lie on every way from it, as bits."""
        return _on_every_way(self._following)

    @functools.cached_property
    def _dominators(self) -> list[int]:
        """Return, for each block, the blocks that lie on every way to it, as bits."""
        # The first block has its own begin.
        return _on_every_way([[], *self._flow.predecessors[1:]])


def _on_every_way(next_: Sequence[Sequence[int]]) -> list[int]:
    """Return, for each block, itself and the blocks on every way from it to one without a next, as bits.

    A block from which no way leads to such a one has itself alone.
    """
    count = len(next_)
    # From above: all blocks lie on every way until one is found that leaves them out.
    ways = [(1 << count) - 1 if following else 1 << block for block, following in enumerate(next_)]
    ends = {block for block, following in enumerate(next_) if not following}
    changed = True
    while changed:
        changed = False
        for block in reversed(range(count)):
            if following := next_[block]:
                common = functools.reduce(int.__and__, (ways[x] for x in following)) | 1 << block
                # Whether a way leads to an end at all is found in the same rounds.
                is_new_end = block not in ends and not ends.isdisjoint(following)
                ends |= {block} if is_new_end else set()
                changed |= common != ways[block] or is_new_end
                ways[block] = common
    return [bits if block in ends else 1 << block for block, bits in enumerate(ways)]

"""Translate the meetings of threads: barriers, shuffles, votes, matches, reductions of a warp.

Lanes meet by `.sync` for the operation and the mask, wherever they stand: NVVM makes two copies of a loop for
lanes that meet in it. What has no mask takes the lanes that stand at this very instruction (`aligned`).
"""

from collections.abc import Sequence
from typing import Any

from ptx_on_cpu.passing import can_be_passed
from ptx_on_cpu.records import BARRIERS, IN_BLOCK, IN_WARP
from ptx_on_cpu.syntax.program import width
from ptx_on_cpu.translate.function import Translation, emits


def _meet(
    t: Translation,
    meeting: str,
    status: int,
    result: str = "",
    predicate: str = "",
    kind: str = "b32",
    **noted: Any,
) -> None:
    """Wait for a meeting, then take the result that the scheduler left."""

    def resume() -> None:
        # The whole block was here, so that nobody is ahead of anybody.
        if status == IN_BLOCK and can_be_passed(t.function.body[t.pc]):
            t.forget_counts()
        if result:
            value = t.read("thread", "result")
            t.set(result, t.text.resized(value, 64, width(kind)), kind)
        if predicate:
            t.set(predicate, t.text.resized(t.read("thread", "predicate"), 32, 1), "pred")

    t.wait(status, meeting, resume, form=t.form(), behind=t.behind(), **noted)


def _lanes(t: Translation, modifiers: list[str], operands: Sequence[str], mask: int) -> dict[str, Any]:
    """Return which lanes meet at an instruction: its mask's, or without `.sync` all that are there."""
    if "sync" not in modifiers:
        return {"mask": 0, "aligned": 1}
    return {"mask": t.get(operands[mask], "b32"), "aligned": 0}


def _wide(t: Translation, operand: str, kind: str) -> str:
    return t.text.resized(t.get(operand, kind), width(kind), 64, kind[0] == "s")


@emits("bar", "barrier")
def _barrier(t: Translation, modifiers: list[str], operands: Sequence[str]) -> None:
    # By the PTX ISA `bar` stands for `barrier` with `.aligned`.
    is_aligned = int(t.name == "bar" or "aligned" in modifiers)
    how = next(
        (modifier for modifier in modifiers if modifier in ("cluster", "warp", "sync", "red", "arrive")), ""
    )
    if how == "warp":
        _meet(t, "warp.sync", IN_WARP, **_lanes(t, modifiers, operands, 0))
    elif how == "red":
        operation = next(modifier for modifier in modifiers if modifier in ("and", "or", "popc"))
        count = t.get(operands[2], "b32") if len(operands) > 3 else 0
        vote = _wide(t, operands[-1], "pred")
        noted: dict[str, Any] = {
            "b": t.get(operands[1], "b32"),
            "c": count,
            "value": vote,
            "aligned": is_aligned,
        }
        _meet(t, f"bar.{operation}", IN_BLOCK, operands[0], kind=modifiers[-1], **noted)
    elif how == "sync":
        count = t.get(operands[1], "b32") if len(operands) > 1 else 0
        _meet(t, "bar.sync", IN_BLOCK, b=t.get(operands[0], "b32"), c=count, aligned=is_aligned)
    elif how == "arrive":
        # A wrong number is not to be written behind the block's counts.
        number = t.text.new(f"and i32 {t.get(operands[0], 'b32')}, {BARRIERS - 1}")
        t.text.do(f"call void @arrive(ptr %block, ptr %thread, i32 {number})")
        if t.options.races:
            t.text.do(f"call void @arrival(ptr %block, ptr %thread, i32 {number})")
    else:
        raise t.refused()


@emits("shfl")
def _shuffle(t: Translation, modifiers: list[str], operands: Sequence[str]) -> None:
    result, _, predicate = operands[0].partition("|")
    b, c = (t.get(operand, "b32") for operand in operands[2:4])
    value = _wide(t, operands[1], "b32")
    how = next(modifier for modifier in modifiers if modifier in ("up", "down", "bfly", "idx"))
    noted = _lanes(t, modifiers, operands, 4)
    _meet(t, f"shfl.{how}", IN_WARP, result, predicate, value=value, b=b, c=c, **noted)


@emits("vote")
def _vote(t: Translation, modifiers: list[str], operands: Sequence[str]) -> None:
    value, noted = _wide(t, operands[1], "pred"), _lanes(t, modifiers, operands, 2)
    how = next(modifier for modifier in modifiers if modifier in ("all", "any", "uni", "ballot"))
    _meet(t, f"vote.{how}", IN_WARP, operands[0], kind=modifiers[-1], value=value, **noted)


@emits("match")
def _match(t: Translation, modifiers: list[str], operands: Sequence[str]) -> None:
    result, _, predicate = operands[0].partition("|")
    value, noted = _wide(t, operands[1], modifiers[-1]), _lanes(t, modifiers, operands, 2)
    _meet(t, f"match.{modifiers[0]}", IN_WARP, result, predicate, value=value, **noted)


@emits("redux")
def _reduce(t: Translation, modifiers: list[str], operands: Sequence[str]) -> None:
    if modifiers[-1] == "f32":
        raise t.refused()
    how = next(modifier for modifier in modifiers if modifier in ("add", "min", "max", "and", "or", "xor"))
    value, noted = _wide(t, operands[1], modifiers[-1]), _lanes(t, modifiers, operands, 2)
    _meet(t, f"redux.{how}", IN_WARP, operands[0], value=value, **noted)


@emits("activemask")
def _active(t: Translation, modifiers: list[str], operands: Sequence[str]) -> None:
    _meet(t, "activemask", IN_WARP, operands[0], **_lanes(t, modifiers, operands, 0))


@emits("elect")
def _elect(t: Translation, modifiers: list[str], operands: Sequence[str]) -> None:
    result, _, predicate = operands[0].partition("|")
    _meet(t, "elect", IN_WARP, result, predicate, **_lanes(t, modifiers, operands, 1))

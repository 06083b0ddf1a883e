"""Translate what threads do together: barriers, shuffles, votes, matches, reductions of a warp."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

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
    """Wait for others, then take what the scheduler left as the result."""

    def resume() -> None:
        if result:
            value = t.read("thread", "result")
            t.set(result, t.text.resized(value, 64, width(kind)), kind)
        if predicate:
            t.set(predicate, t.text.resized(t.read("thread", "predicate"), 32, 1), "pred")

    t.wait(status, meeting, resume, **noted)


def _wide(t: Translation, operand: str, kind: str) -> str:
    return t.text.resized(t.get(operand, kind), width(kind), 64, kind[0] == "s")


@emits("bar", "barrier")
def _barrier(t: Translation, parts: list[str], operands: Sequence[str]) -> None:
    is_aligned = int(t.name == "bar" or "aligned" in parts)
    how = next((part for part in parts if part in ("warp", "sync", "red", "arrive")), "")
    if how == "warp":
        _meet(t, "warp.sync", IN_WARP, mask=t.get(operands[0], "b32"))
    elif how == "red":
        operation = next(part for part in parts if part in ("and", "or", "popc"))
        count = t.get(operands[2], "b32") if len(operands) > 3 else 0
        vote = _wide(t, operands[-1], "pred")
        noted: dict[str, Any] = {
            "b": t.get(operands[1], "b32"),
            "c": count,
            "value": vote,
            "aligned": is_aligned,
        }
        _meet(t, f"bar.{operation}", IN_BLOCK, operands[0], kind=parts[-1], **noted)
    elif how == "sync":
        count = t.get(operands[1], "b32") if len(operands) > 1 else 0
        _meet(t, "bar.sync", IN_BLOCK, b=t.get(operands[0], "b32"), c=count, aligned=is_aligned)
    elif how == "arrive":
        number = t.text.new(f"and i32 {t.get(operands[0], 'b32')}, {BARRIERS - 1}")
        t.text.do(f"call void @arrive(ptr %block, i32 {number})")
        if t.options.races:
            t.text.do(f"call void @arrival(ptr %block, ptr %thread, i32 {number})")
    else:
        raise t.refused()


@emits("shfl")
def _shuffle(t: Translation, parts: list[str], operands: Sequence[str]) -> None:
    result, _, predicate = operands[0].partition("|")
    b, c, mask = (t.get(operand, "b32") for operand in (*operands[2:], "-1")[:3])
    value = _wide(t, operands[1], "b32")
    how = next(part for part in parts if part in ("up", "down", "bfly", "idx"))
    _meet(t, f"shfl.{how}", IN_WARP, result, predicate, value=value, b=b, c=c, mask=mask)


@emits("vote")
def _vote(t: Translation, parts: list[str], operands: Sequence[str]) -> None:
    value, mask = _wide(t, operands[1], "pred"), t.get((*operands, "-1")[2], "b32")
    how = next(part for part in parts if part in ("all", "any", "uni", "ballot"))
    _meet(t, f"vote.{how}", IN_WARP, operands[0], kind=parts[-1], value=value, mask=mask)


@emits("match")
def _match(t: Translation, parts: list[str], operands: Sequence[str]) -> None:
    result, _, predicate = operands[0].partition("|")
    value, mask = _wide(t, operands[1], parts[-1]), t.get(operands[2], "b32")
    _meet(t, f"match.{parts[0]}", IN_WARP, result, predicate, value=value, mask=mask)


@emits("redux")
def _reduce(t: Translation, parts: list[str], operands: Sequence[str]) -> None:
    if parts[-1] == "f32":
        raise t.refused()
    how = next(part for part in parts if part in ("add", "min", "max", "and", "or", "xor"))
    value, mask = _wide(t, operands[1], parts[-1]), t.get(operands[2], "b32")
    _meet(t, f"redux.{how}", IN_WARP, operands[0], value=value, mask=mask)


@emits("activemask")
def _active(t: Translation, parts: list[str], operands: Sequence[str]) -> None:
    _meet(t, "activemask", IN_WARP, operands[0], mask=0)

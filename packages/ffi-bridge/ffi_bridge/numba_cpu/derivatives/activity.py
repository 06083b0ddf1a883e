"""Questions of Enzyme that are answered before a derivative runs: whether a pointer has a tangent.

Where Enzyme decides at run time, each load and store of a tangent asks first whether its address is that of
the number itself, which says that there is no tangent. No loop with such a question becomes one over vectors.
Addresses in different memory differ.
"""

from __future__ import annotations

import re
from typing import Final

_NAME: Final = r"%(?:\"[^\"]*\"|[\w.$-]+)"
_LINE: Final = re.compile(rf"^ *({_NAME}) = (.*)$", re.M)
_QUESTION: Final = re.compile(
    rf"^(?P<found> *{_NAME} = )icmp (?P<how>eq|ne) ptr (?P<one>{_NAME}), (?P<other>{_NAME})$", re.M
)
_PARAMETER: Final = re.compile(rf"({_NAME})(?=[,)])")
_ALLOCATED: Final = re.compile(r"[^@]*@[mc]alloc\(")
_MOVED: Final = re.compile(r"getelementptr ")
_MERGED: Final = re.compile(r"phi ptr |select i1 [^,]*, ptr ")
_POINTER: Final = re.compile(rf"(?:\[ |ptr )({_NAME})")


def decided(function: str) -> str:
    """Return the text of a derivative whose parameters are memory apart, with the questions answered.

    A kernel may ask whether two inputs are one array, which they may be: that stays a question.
    """
    head, _, body = function.partition("\n")
    parameters, lines = set(_PARAMETER.findall(head)), dict(_LINE.findall(body))

    def memory(name: str, seen: set[str]) -> set[str]:
        """Return the names of what an address may point into: parameters, allocations, others."""
        if name in seen:
            return set()
        seen.add(name)
        line = lines.get(name, "")
        if _MOVED.match(line) or _MERGED.match(line):
            return set().union(*(memory(x, seen) for x in _POINTER.findall(line)))
        return {name}

    def is_known(name: str) -> bool:
        return name in parameters or bool(_ALLOCATED.match(lines.get(name, "")))

    def answer(question: re.Match[str]) -> str:
        sides = [memory(question[x], set()) for x in ("one", "other")]
        # Enzyme's names of tangents end in '; a null pointer leads nowhere.
        are_given = [any(x in parameters and not x.endswith("'\"") for x in side) for side in sides]
        if (
            not all(sides)
            or sides[0] & sides[1]
            or all(are_given)
            or not all(map(is_known, sides[0] | sides[1]))
        ):
            return question[0]
        return f"{question['found']}icmp {question['how']} i1 true, false"

    return f"{head}\n{_QUESTION.sub(answer, body)}"

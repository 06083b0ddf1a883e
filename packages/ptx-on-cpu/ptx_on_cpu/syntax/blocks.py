"""Take away the blocks of a function's body, whose registers and labels hide outer ones of the same name."""

from __future__ import annotations

import itertools
import re
from collections import ChainMap
from collections.abc import Iterator
from typing import Final

_VECTOR: Final = re.compile(r"\{([^{};]*)\}")
_BRACE: Final = re.compile(r"([{}])")
_DECLARED: Final = re.compile(r"\.reg\s+(?:\.v[24]\s+)?\.\w+\s+([^;]*)")
_REGISTER: Final = re.compile(r"([\w%$.]+)(?:<(\d+)>)?")
_LABEL: Final = re.compile(r"(?:^|[;\s])([\w$]+)\s*:(?!:)")
_WORD: Final = re.compile(r"[\w%$]+")

Block = list["str | Block"]


def flattened(body: str) -> str:
    """Return the statements without blocks; a name that a block declares anew is replaced within it.

    Braces of vector operands become angles.
    """
    whole = _nested(iter(_BRACE.split(_VECTOR.sub(r"<\1>", body))))
    return ";".join(_statements(whole, ChainMap(), set(), itertools.count()))


def _nested(parts: Iterator[str]) -> Block:
    """Return the parts up to the brace that closes a block; a block among them is a nested list."""
    return [_nested(parts) if part == "{" else part for part in iter(lambda: next(parts, "}"), "}")]


def _statements(
    block: Block, names: ChainMap[str, str], known: set[str], numbers: Iterator[int]
) -> Iterator[str]:
    """Yield the statements of a block; `names` maps the registers and labels around it to their new names."""
    declared = set[str]().union(*(_declared(part) for part in block if isinstance(part, str)))
    hidden = {name: f"{name}_hidden{next(numbers)}" for name in sorted(declared & known)}
    known |= declared
    names = names.new_child(hidden)
    for part in block:
        if isinstance(part, str):
            yield _renamed(part, names) if names else part
        else:
            yield from _statements(part, names, known, numbers)


def _declared(text: str) -> set[str]:
    """Return the registers and labels that statements declare."""
    found = set(_LABEL.findall(text))
    for names in _DECLARED.findall(text):
        for name, count in _REGISTER.findall(names):
            found |= {f"{name}{i}" for i in range(int(count))} if count else {name}
    return found


def _renamed(text: str, names: ChainMap[str, str]) -> str:
    """Return statements with new names; registers that are declared by their number are declared one by one."""

    def listed(found: re.Match[str]) -> str:
        return ", ".join(f"{found[1]}{i}" for i in range(int(found[2]))) if found[2] else found[0]

    text = _DECLARED.sub(lambda each: each[0].replace(each[1], _REGISTER.sub(listed, each[1])), text)
    return _WORD.sub(lambda word: names.get(word[0], word[0]), text)

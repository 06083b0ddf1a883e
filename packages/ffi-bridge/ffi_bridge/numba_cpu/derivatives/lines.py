"""The line of Python by which a kernel does what has no derivative, by the debug information in LLVM's text.

Numba says of each instruction of the user's functions from which line it is. Its own code for a function of
NumPy is called from there.
"""

from __future__ import annotations

import linecache
import os
import re
import warnings
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import numba

_NUMBA: Final = os.path.dirname(numba.__file__)
_NAME: Final = r"@(\"[^\"]+\"|[\w.$-]+)"
_FUNCTION: Final = re.compile(rf"^define [^\n]*?{_NAME}\([^\n]*\{{\n(.*?)^\}}\n", re.M | re.S)
_CALLED: Final = re.compile(rf" call [^\n(]*?{_NAME}\(")
_AT: Final = re.compile(r"!dbg !(\d+)")
_NODE: Final = re.compile(
    r"^!(\d+) = (?:distinct )?!DI(Location|Subprogram|LexicalBlock|File)\((.*)\)$", re.M
)
_FIELD: Final = re.compile(r"(\w+): (?:\"([^\"]*)\"|!?(\d+))")
# Functions that put together what an exception says.
_OF_ERRORS: Final = re.compile(r"raise_with_shape_context|excinfo")


@contextmanager
def debug_information(dispatchers: Sequence[Any]) -> Generator[None]:
    """Compile these within the block with the lines of their source; Numba warns where there is none."""
    options = [x.targetoptions for x in dispatchers if hasattr(x, "targetoptions")]
    before = [dict(x) for x in options]
    try:
        for x in options:
            x["debug"] = True
        with warnings.catch_warnings(action="ignore"):
            yield
    finally:
        for x, kept in zip(options, before, strict=True):
            x.clear()
            x.update(kept)


class Lines:
    """The lines of the user's functions in the text of a module."""

    def __init__(self, text: str, kernel: str) -> None:
        self._kernel = kernel
        self._functions = {name.strip('"'): body.split("\n") for name, body in _FUNCTION.findall(text)}
        self._nodes = {
            number: {name: word or digits for name, word, digits in _FIELD.findall(fields)}
            for number, _, fields in _NODE.findall(text)
        }

    def first(self, wanted: re.Pattern[str], source: re.Pattern[str]) -> str:
        """Return place and code of the first line with an instruction, and a source, like these; "" for none.

        A line that raises is passed over, and one whose source is not at hand.
        """
        for file, line in self._search(self._kernel, None, wanted, set()):
            code = linecache.getline(file, line).strip()
            if code and source.search(code) and not code.startswith("raise"):
                return f"{file}:{line}, `{code}`"
        return ""

    def _search(
        self, function: str, at: tuple[str, int] | None, wanted: re.Pattern[str], seen: set[str]
    ) -> Iterator[tuple[str, int]]:
        """Yield the places of instructions, of callees where they are called."""
        seen.add(function)
        for instruction in self._functions.get(function, ()):
            place = self._place(instruction) or at
            if place and wanted.search(instruction):
                yield place
            called = _CALLED.search(instruction)
            inside = called[1].strip('"') if called else ""
            if inside in self._functions and inside not in seen and not _OF_ERRORS.search(inside):
                yield from self._search(inside, place, wanted, seen)

    def _place(self, instruction: str) -> tuple[str, int] | None:
        found = _AT.search(instruction)
        node = self._nodes.get(found[1], {}) if found else {}
        line, scope = int(node.get("line", 0)), self._nodes.get(node.get("scope", ""), {})
        file = self._nodes.get(scope.get("file", ""), {})
        path = os.path.join(file.get("directory", ""), file.get("filename", ""))
        return (path, line) if line and not path.startswith(_NUMBA) else None

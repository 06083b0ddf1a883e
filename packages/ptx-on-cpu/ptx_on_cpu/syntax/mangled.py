"""Read the names that compilers give kernels."""

from __future__ import annotations

import re
from typing import Final

_NESTED: Final = re.compile(r"_ZN?(?=\d)")
_LENGTH: Final = re.compile(r"\d+")


def readable(name: str) -> str:
    """Return the function's own name in a mangled one: `scale` for `_ZN6module5scaleB2v1E...`."""
    start = _NESTED.match(name)
    at, found = (start.end(), name) if start else (len(name), name)
    while length := _LENGTH.match(name, at):
        end = length.end() + int(length[0])
        found, at = name[length.end() : end], end
    return found

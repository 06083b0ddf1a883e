"""The memory of a derivative, as functions of LLVM's text.

In the reverse mode Enzyme lets go of some arrays, and keeps others until they are needed, without a last
`free`. So all that a derivative allocates is of an arena, which is released at the end, also if the kernel
raised; one chunk is kept for the next call. In loops whose number of turns is not known before, Enzyme keeps
a small block or more for each turn, and lets one grow as it goes: the arena cuts blocks of up to a million
bytes from few large chunks.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from ffi_bridge.numba_cpu.derivatives import failures

_ARENA: Final = Path(__file__).with_name("arena.ll").read_text()
_ALLOCATES: Final = re.compile(r"@(malloc|calloc|realloc|free)\(")
_DECLARED: Final = re.compile(
    rf"^declare [^\n]*@(malloc|calloc|realloc|free|{failures.NAME}|"
    r"llvm\.(memset\.p0\.i64|memcpy\.p0\.p0\.i64|ctlz\.i64|u(min|max)\.i64))\(.*\n",
    re.M,
)
_DEFINED: Final = re.compile(r"^define [^\n]*?@(\"[^\"]+\"|[\w.$-]+)\(", re.M)
_ENTRY: Final = re.compile(r"^define [^\n]*@entry\([^\n]*\{$", re.M)


def released_at_the_end(text: str, name: str) -> str:
    """Return a module with the function `name(table)` that calls `entry`, and leaves nothing allocated.

    Each function of the module gets the arena as its first argument.
    """
    own = {found[1] for found in _DEFINED.finditer(text)} - {"entry"}
    text = _ENTRY.sub("define internal void @entry(ptr %outs, ptr %.arena) {", _DECLARED.sub("", text))
    text = _ALLOCATES.sub(r"@arena_\1(", text).replace(f"@{failures.NAME}(", "@arena_leave_if(")
    for called in [*map(re.escape, own), r"arena_(?:malloc|calloc|realloc|free|leave_if)"]:
        text = re.sub(rf"(@{called}\()(?=(\)?))", lambda x: f"{x[1]}ptr %.arena{'' if x[2] else ', '}", text)
    return text + _ARENA.replace("$name", name)

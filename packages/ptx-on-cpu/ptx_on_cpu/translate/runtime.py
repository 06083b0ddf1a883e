"""Read the functions that each module has beside its kernel, `runtime.ll`, with numbers for names."""

import functools
import re
from importlib.resources import files
from typing import Final

from ptx_on_cpu.buffers import ADDRESS_BITS, ADDRESS_MASK, LOCAL_WINDOW, SHARED_WINDOW
from ptx_on_cpu.checks.races import IN_SHARED
from ptx_on_cpu.records import (
    ACCESS,
    BLOCK,
    BUFFER,
    ENDED,
    EXECUTED,
    FAULT,
    MISALIGNED,
    NO_ROOM,
    OUT_OF_BOUNDS,
    RACE,
    READ_ONLY,
    RUNNING,
    TAKE_TRACE,
    THREAD,
    TRACE_ROOM,
    UNINITIALISED,
    offset,
)

_RECORDS: Final = {
    "block": BLOCK,
    "thread": THREAD,
    "buffer": BUFFER,
    "access": ACCESS,
    "executed": EXECUTED,
}
_NUMBERS: Final = {
    "BITS": ADDRESS_BITS,
    "MASK": ADDRESS_MASK,
    "SHARED": SHARED_WINDOW,
    "LOCAL": LOCAL_WINDOW,
    "SHARED_BASE": SHARED_WINDOW << ADDRESS_BITS,
    "LOCAL_BASE": LOCAL_WINDOW << ADDRESS_BITS,
    "ENDED": ENDED,
    "FAULT": FAULT,
    "RUNNING": RUNNING,
    "OUT_OF_BOUNDS": OUT_OF_BOUNDS,
    "MISALIGNED": MISALIGNED,
    "READ_ONLY": READ_ONLY,
    "UNINITIALISED": UNINITIALISED,
    "THREAD_SIZE": THREAD.itemsize,
    "BUFFER_SIZE": BUFFER.itemsize,
    "ACCESS_SIZE": ACCESS.itemsize,
    "EXECUTED_SIZE": EXECUTED.itemsize,
    "TRACE_ROOM": TRACE_ROOM,
    "TAKE_TRACE": TAKE_TRACE,
    "IN_SHARED": IN_SHARED,
    "RACE": RACE,
    "NO_ROOM": NO_ROOM,
}


_PIECE: Final = re.compile(r"^define [^@]*@([\w.]+)\(.*?^}$", re.MULTILINE | re.DOTALL)
_NAME: Final = re.compile(r"@([\w.]+)")
_ENTRY: Final = "run"


def runtime(kernel: str) -> str:
    """Return the text of the functions that the text of a kernel needs, and of the loop that calls it."""
    pieces = _pieces()
    needed, open_ = set[str](), {_ENTRY, *_NAME.findall(kernel)}
    while open_:
        name = open_.pop()
        if name in pieces and name not in needed:
            needed.add(name)
            open_ |= set(_NAME.findall(pieces[name]))
    return "\n".join(text for name, text in pieces.items() if name in needed)


@functools.cache
def _pieces() -> dict[str, str]:
    """Return the text of every function of the runtime, by name."""

    def number(found: re.Match[str]) -> str:
        record, _, name = found[1].partition(".")
        return str(offset(_RECORDS[record], name) if name else _NUMBERS[record])

    text = (files("ptx_on_cpu.translate") / "runtime.ll").read_text(encoding="utf-8")
    text = re.sub(r"\{([\w.]+)\}", number, text)
    return {found[1]: found[0] for found in _PIECE.finditer(text)}

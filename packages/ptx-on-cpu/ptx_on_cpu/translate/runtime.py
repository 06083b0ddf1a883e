"""Read what each module has beside its kernel, `runtime.ll`, with numbers in the place of names."""

from __future__ import annotations

import functools
import re
from importlib.resources import files
from typing import Final

from ptx_on_cpu.buffers import ADDRESS_BITS, ADDRESS_MASK, LOCAL_WINDOW, SHARED_WINDOW
from ptx_on_cpu.records import (
    ACCESS,
    BLOCK,
    BUFFER,
    ENDED,
    EXECUTED,
    FAULT,
    MISALIGNED,
    OUT_OF_BOUNDS,
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
}


@functools.cache
def runtime() -> str:
    """Return the text of these functions."""

    def number(found: re.Match[str]) -> str:
        record, _, name = found[1].partition(".")
        return str(offset(_RECORDS[record], name) if name else _NUMBERS[record])

    text = (files("ptx_on_cpu.translate") / "runtime.ll").read_text(encoding="utf-8")
    return re.sub(r"\{([\w.]+)\}", number, text)

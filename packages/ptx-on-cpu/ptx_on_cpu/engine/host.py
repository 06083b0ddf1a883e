"""Functions of the host that kernels call: printing, assertions, memory from the heap."""

from __future__ import annotations

import ctypes
import re
import struct
from typing import Any, Final

import numpy as np

_CALL: Final = ctypes.CFUNCTYPE(
    ctypes.c_int64, ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64
)
_FORMAT: Final = re.compile(r"%[-+ #0]*\d*(?:\.\d+)?(?:hh|h|ll|l|j|z|t)?([diouxXeEfgGaAcsp%])")


class Host:
    """The host side of one launch; `printed` is what its threads have printed."""

    def __init__(self) -> None:
        self.printed = ""
        self.assertion = ""
        self._heap: dict[int, np.ndarray[Any, Any]] = {}
        self._callback = _CALL(self._call)

    def __enter__(self) -> Host:
        return self

    def __exit__(self, *_: object) -> None: ...

    @property
    def address(self) -> int:
        """Return the address of the function that machine code calls."""
        return ctypes.cast(self._callback, ctypes.c_void_p).value or 0

    def _call(self, what: int, block: int, thread: int, first: int, second: int) -> int:
        if what == 0:
            text = formatted(_text(first), second)
            self.printed += text
            print(text, end="", flush=True)
        elif what == 1:
            self.assertion = _text(first)
        return 0


def _text(address: int) -> str:
    return ctypes.string_at(address).decode(errors="replace")


def formatted(pattern: str, arguments: int) -> str:
    """Return what printf of C makes of a pattern and of arguments in memory, each aligned to its size."""
    at = arguments

    def one(found: re.Match[str]) -> str:
        nonlocal at
        kind = found[1]
        if kind == "%":
            return "%"
        is_long = kind in "eEfgGaAsp" or re.search(r"(ll|l|j|z|t)[diouxX]$", found[0])
        size = 8 if is_long else 4
        at += -at % size
        raw = ctypes.string_at(at, size)
        at += size
        value: Any
        if kind in "eEfgGaA":
            (value,) = struct.unpack("<d", raw)
        elif kind == "s":
            value = _text(int.from_bytes(raw, "little"))
        else:
            value = int.from_bytes(raw, "little", signed=kind in "di")
        if kind == "p":
            return hex(value)
        if kind in "aA":
            return float.hex(value)
        return re.sub(r"(hh|h|ll|l|j|z|t)(?=[a-zA-Z]$)", "", found[0]).replace("i", "d") % value

    return _FORMAT.sub(one, pattern)

"""Functions of the host that kernels call: printing and assertions; and the traces."""

import ctypes
import re
import struct
from typing import Any, Final

import numpy as np

from ptx_on_cpu.buffers import ADDRESS_BITS, ADDRESS_MASK, LOCAL_WINDOW, SHARED_WINDOW
from ptx_on_cpu.records import ACCESS, ASSERT, BLOCK, EXECUTED, PRINT, TAKE_TRACE

_CALL: Final = ctypes.CFUNCTYPE(
    ctypes.c_int64, ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64
)
_FORMAT: Final = re.compile(r"%[-+ #0]*\d*(?:\.\d+)?(?:hh|h|ll|l|j|z|t)?([diouxXeEfgGaAcsp%])")


class Host:
    """The host side of one launch; `printed` is the text that its threads have printed."""

    def __init__(self) -> None:
        self.printed = ""
        self.assertion = ""
        self._callback = _CALL(self._call)
        self._accesses: list[np.ndarray[Any, Any]] = [np.empty(0, ACCESS)]
        self._executed: list[np.ndarray[Any, Any]] = [np.empty(0, EXECUTED)]

    @property
    def address(self) -> int:
        """Return the address of the function that machine code calls."""
        return ctypes.cast(self._callback, ctypes.c_void_p).value or 0

    def take_traces(self, block: Any) -> None:
        """Copy the rows that a block has collected."""
        kinds = (("accesses", ACCESS, self._accesses), ("executed", EXECUTED, self._executed))
        for name, dtype, taken in kinds:
            count = int(block[f"num_{name}"])
            rows: Any = (ctypes.c_char * (count * dtype.itemsize)).from_address(int(block[name]))
            taken.append(np.frombuffer(rows, dtype).copy())
            block[f"num_{name}"] = 0

    @property
    def accesses(self) -> np.ndarray[Any, Any]:
        """Return all accesses to memory, of counted launches."""
        return np.concatenate(self._accesses)

    @property
    def executed(self) -> np.ndarray[Any, Any]:
        """Return all executions of basic blocks, of counted launches."""
        return np.concatenate(self._executed)

    def _call(self, service: int, block: int, thread: int, first: int, second: int) -> int:
        if service == PRINT:
            text = formatted(_text(first), second)
            self.printed += text
            print(text, end="", flush=True)
        elif service == ASSERT:
            self.assertion = _text(first)
        elif service == TAKE_TRACE:
            record: Any = (ctypes.c_char * BLOCK.itemsize).from_address(block)
            self.take_traces(np.frombuffer(record, BLOCK)[0])
        return 0


def _text(address: int) -> str:
    return ctypes.string_at(address).decode(errors="replace")


def _pointed(pointer: int) -> str:
    """Return the text that a pointer of a kernel leads to, where the host can tell."""
    number, address = pointer >> ADDRESS_BITS, pointer & ADDRESS_MASK
    if number in (SHARED_WINDOW, LOCAL_WINDOW):
        return "(text in shared or local memory)"
    return _text(address) if address else "(null)"


def formatted(pattern: str, arguments: int) -> str:
    """Format a pattern as printf of C does, with arguments in memory, each aligned to its size."""
    at = arguments

    def converted(directive: re.Match[str]) -> str:
        nonlocal at
        kind = directive[1]
        if kind == "%":
            return "%"
        is_long = kind in "eEfgGaAsp" or re.search(r"(ll|l|j|z|t)[diouxX]$", directive[0])
        size = 8 if is_long else 4
        # Compilers lay the arguments out as a struct of C.
        at += -at % size
        raw = ctypes.string_at(at, size)
        at += size
        value: Any
        if kind in "eEfgGaA":
            (value,) = struct.unpack("<d", raw)
        elif kind == "s":
            value = _pointed(int.from_bytes(raw, "little"))
        else:
            value = int.from_bytes(raw, "little", signed=kind in "di")
        if kind == "p":
            return hex(value)
        if kind in "aA":
            return float.hex(value)
        return re.sub(r"(hh|h|ll|l|j|z|t)(?=[a-zA-Z]$)", "", directive[0]).replace("i", "d") % value

    return _FORMAT.sub(converted, pattern)

"""Call frames built by hand, to give handlers what XLA never would."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from ffi_bridge.abi import CODES, DTYPES, OFFSETS, SIZES

HANDLER = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)


class Record:
    """A C struct of 256 bytes, written by field name."""

    def __init__(self, struct: str) -> None:
        self.struct = struct
        self.memory = ctypes.create_string_buffer(256)
        self.address = ctypes.addressof(self.memory)
        self.kept: list[Any] = []

    def put(self, field: str, value: int, kind: Any = ctypes.c_int64) -> None:
        kind.from_address(self.address + OFFSETS[self.struct][field]).value = value

    def get(self, field: str, kind: Any = ctypes.c_int32) -> int:
        return int(kind.from_address(self.address + OFFSETS[self.struct][field]).value)


class Call:
    """A frame over NumPy arrays; `run` calls a handler and returns its error text, or None."""

    def __init__(self, ins: list[np.ndarray], outs: list[np.ndarray]) -> None:
        self.frame = Record("XLA_FFI_CallFrame")
        self.frame.put("stage", CODES["XLA_FFI_ExecutionStage_EXECUTE"], ctypes.c_int32)
        self.errors: list[tuple[str, int]] = []
        self._create = HANDLER(self._record_error)
        api = Record("XLA_FFI_Api")
        api.put("XLA_FFI_Error_Create", ctypes.cast(self._create, ctypes.c_void_p).value or 0)
        self.frame.put("api", api.address)
        self.frame.kept += [api, self._list("args", ins), self._list("rets", outs)]

    def _list(self, side: str, arrays: list[np.ndarray]) -> list[Any]:
        buffers = [_buffer(array) for array in arrays]
        table = (ctypes.c_void_p * max(1, len(buffers)))(*[b.address for b in buffers])
        base = self.frame.address + OFFSETS["XLA_FFI_CallFrame"][side]
        struct, member = {"args": ("XLA_FFI_Args", "args"), "rets": ("XLA_FFI_Rets", "rets")}[side]
        ctypes.c_int64.from_address(base + OFFSETS[struct]["size"]).value = len(arrays)
        ctypes.c_void_p.from_address(base + OFFSETS[struct][member]).value = ctypes.addressof(table)
        return [*buffers, table, arrays]

    def _record_error(self, address: int) -> int:
        at = OFFSETS["XLA_FFI_Error_Create_Args"]
        size = ctypes.c_int64.from_address(address).value
        assert size == SIZES["XLA_FFI_Error_Create_Args"]
        text = ctypes.c_char_p.from_address(address + at["message"]).value or b""
        code = ctypes.c_int32.from_address(address + at["errc"]).value
        self.errors.append((text.decode(), code))
        return 1

    def run(self, handler: int) -> str | None:
        result = HANDLER(handler)(self.frame.address)
        assert bool(result) == bool(self.errors)
        return self.errors[-1][0] if self.errors else None


def _buffer(array: np.ndarray) -> Record:
    record = Record("XLA_FFI_Buffer")
    record.put("dtype", DTYPES[array.dtype][1], ctypes.c_int32)
    record.put("data", array.ctypes.data)
    record.put("rank", array.ndim)
    dims = (ctypes.c_int64 * max(1, array.ndim))(*array.shape)
    record.kept += [dims, array]
    record.put("dims", ctypes.addressof(dims))
    return record

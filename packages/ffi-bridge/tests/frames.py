"""Call frames built by hand, to give handlers what XLA never would."""

import ctypes
from typing import Any

import numpy as np

from ffi_bridge.abi import CODES, DTYPES, OFFSETS, SIZES
from ffi_bridge.targets import HANDLER, targets

UNKNOWN_EXTENSION = 77
CONTEXT, STREAM = 0xC7, 0x57EA  # what a frame carries, and the stream that XLA answers for it

Buffers = list[np.ndarray | None]
_VERSION = OFFSETS["XLA_FFI_Api_Version"]


class Record:
    """A C struct of 256 bytes, written by field name."""

    def __init__(self, struct: str) -> None:
        self.struct = struct
        self.memory = ctypes.create_string_buffer(256)
        self.address = ctypes.addressof(self.memory)
        self.kept: list[Any] = []

    def put(self, field: str, value: int, kind: Any = ctypes.c_int64) -> None:
        kind.from_address(self.address + OFFSETS[self.struct][field]).value = value


class Call:
    """A frame over NumPy arrays, and tokens, which are None.

    `run` calls a handler and returns its error text, or None.
    """

    def __init__(self, ins: Buffers, outs: Buffers, stage: int | None = None) -> None:
        self.frame = Record("XLA_FFI_CallFrame")
        execute = CODES["XLA_FFI_ExecutionStage_EXECUTE"]
        self.frame.put("stage", execute if stage is None else stage, ctypes.c_int32)
        self.frame.put("ctx", CONTEXT)
        self.errors: list[tuple[str, int]] = []
        self._create = HANDLER(self._record_error)
        api = Record("XLA_FFI_Api")
        api.put("XLA_FFI_Error_Create", ctypes.cast(self._create, ctypes.c_void_p).value or 0)
        self._get_stream = HANDLER(self._give_stream)
        api.put("XLA_FFI_Stream_Get", ctypes.cast(self._get_stream, ctypes.c_void_p).value or 0)
        self.api = api
        self.frame.put("api", api.address)
        self.frame.kept += [api, self._list("args", ins), self._list("rets", outs)]

    def _list(self, side: str, arrays: Buffers) -> list[Any]:
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

    def _give_stream(self, address: int) -> None:
        at = OFFSETS["XLA_FFI_Stream_Get_Args"]
        assert ctypes.c_int64.from_address(address).value == SIZES["XLA_FFI_Stream_Get_Args"]
        assert ctypes.c_int64.from_address(address + at["ctx"]).value == CONTEXT
        ctypes.c_int64.from_address(address + at["stream"]).value = STREAM

    def run(self, handler: int) -> str | None:
        result = HANDLER(handler)(self.frame.address)
        assert bool(result) == bool(self.errors)
        return self.errors[-1][0] if self.errors else None


def last_address(kernel: Any) -> int:
    """Of the handlers of a Numba kernel that tracing has registered, under vmap one per level, the last."""
    found = [t for name, t in targets().items() if name.startswith(f"{kernel.__name__}.numba_cpu.")]
    return found[-1].address


def metadata_of(handler: int) -> tuple[tuple[int, int], int]:
    """The version and the traits that a handler answers."""
    metadata, extension, call = Record("XLA_FFI_Metadata"), Record("XLA_FFI_InternalExtension"), Call([], [])
    before = metadata.memory.raw = b"\xa5" * len(metadata.memory)
    extension.put("type", CODES["XLA_FFI_Extension_Metadata"], ctypes.c_int32)
    pointer = OFFSETS["XLA_FFI_Metadata_Extension"]["metadata"]
    ctypes.c_void_p.from_address(extension.address + pointer).value = metadata.address
    call.frame.put("extension_start", extension.address)
    assert call.run(handler) is None
    version = [OFFSETS["XLA_FFI_Metadata"]["api_version"] + offset for offset in _VERSION.values()]
    places = [*version, OFFSETS["XLA_FFI_Metadata"]["traits"]]
    answered = {place + byte for place in places for byte in range(4)}
    assert all(
        x == y or i in answered for i, (x, y) in enumerate(zip(metadata.memory.raw, before, strict=True))
    )
    major, minor, traits = (ctypes.c_int32.from_buffer(metadata.memory, place).value for place in places)
    return (major, minor), traits


def _buffer(array: np.ndarray | None) -> Record:
    record = Record("XLA_FFI_Buffer")
    if array is None:
        record.put("dtype", CODES["XLA_FFI_DataType_TOKEN"], ctypes.c_int32)
        return record
    record.put("dtype", DTYPES[array.dtype][1], ctypes.c_int32)
    record.put("data", array.ctypes.data)
    record.put("rank", array.ndim)
    dims = (ctypes.c_int64 * max(1, array.ndim))(*array.shape)
    record.kept += [dims, array]
    record.put("dims", ctypes.addressof(dims))
    return record

"""Register the baseline of foreign bridges: an XLA FFI handler that is Python behind a ctypes callback.

Here to be measured beside native handlers, and for nothing else.
"""

import ctypes
from collections.abc import Callable
from typing import Any, Final

import jax
import numpy as np

from ffi_bridge.abi import API_VERSION, CODES, OFFSETS

_HANDLER: Final = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)
_kept: Final[list[Any]] = []


def register_python_handler(
    name: str, kernel: Callable[..., None], num_ins: int, num_outs: int, dtype: Any
) -> None:
    """Register `kernel(*ins, *outs)` over NumPy views of the buffers as the CPU target `name`."""

    def handler(frame: int) -> int:
        extension = _word(frame, "XLA_FFI_CallFrame", "extension_start")
        if extension:
            _answer_metadata(extension)
        elif (
            _word(frame, "XLA_FFI_CallFrame", "stage") & 0xFFFFFFFF == CODES["XLA_FFI_ExecutionStage_EXECUTE"]
        ):
            at = OFFSETS["XLA_FFI_CallFrame"]
            ins = _arrays(frame + at["args"], "XLA_FFI_Args", "args", num_ins, dtype)
            outs = _arrays(frame + at["rets"], "XLA_FFI_Rets", "rets", num_outs, dtype)
            kernel(*ins, *outs)
        return 0

    callback = _HANDLER(handler)
    _kept.append(callback)
    address = ctypes.cast(callback, ctypes.c_void_p).value
    jax.ffi.register_ffi_target(name, jax.ffi.pycapsule(address), platform="cpu")


def _word(base: int, struct: str, field: str) -> int:
    return ctypes.c_uint64.from_address(base + OFFSETS[struct][field]).value


def _answer_metadata(extension: int) -> None:
    metadata = _word(extension, "XLA_FFI_Metadata_Extension", "metadata")
    version = metadata + OFFSETS["XLA_FFI_Metadata"]["api_version"]
    at = OFFSETS["XLA_FFI_Api_Version"]
    for field, value in zip(("major_version", "minor_version"), API_VERSION, strict=True):
        ctypes.c_int32.from_address(version + at[field]).value = value
    ctypes.c_uint32.from_address(metadata + OFFSETS["XLA_FFI_Metadata"]["traits"]).value = 0


def _arrays(items: int, struct: str, member: str, count: int, dtype: Any) -> list[np.ndarray[Any, Any]]:
    table = _word(items, struct, member)
    views = []
    for position in range(count):
        buffer = ctypes.c_uint64.from_address(table + 8 * position).value
        rank = _word(buffer, "XLA_FFI_Buffer", "rank")
        dims = (ctypes.c_int64 * rank).from_address(_word(buffer, "XLA_FFI_Buffer", "dims"))
        pointer = ctypes.cast(
            _word(buffer, "XLA_FFI_Buffer", "data"),
            ctypes.POINTER(np.ctypeslib.as_ctypes_type(dtype)),
        )
        views.append(np.ctypeslib.as_array(pointer, tuple(dims)))
    return views

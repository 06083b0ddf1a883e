"""The XLA FFI C ABI as data: byte offsets and codes of `xla/ffi/api/c_api.h` on 64-bit platforms.

The offsets are the same in API 0.3 (jaxlib 0.10), 0.4 (0.11) and 0.5 (0.12); a test compiles the
header of the installed jaxlib and compares every number below with it.
"""

import functools
import re
import struct
import warnings
from pathlib import Path
from typing import Any, Final

import jax
import ml_dtypes
import numpy as np

from ffi_bridge.errors import UnknownAPIWarning, UnsupportedPlatformError

# Every jaxlib that we support accepts this version; XLA refuses handlers of a newer one than its own.
API_VERSION: Final = (0, 1)

# The newest version whose header was compared with the numbers below.
COMPARED: Final = (0, 5)
_HEADER: Final = "xla/ffi/api/c_api.h"
_DECLARED: Final = re.compile(r"^#define XLA_FFI_API_(?:MAJOR|MINOR) (\d+)$", re.MULTILINE)

# Name of the C struct -> field -> byte offset.
# Most structs begin with their size and a pointer to extensions, 16 bytes.
OFFSETS: Final[dict[str, dict[str, int]]] = {
    "XLA_FFI_CallFrame": {
        "extension_start": 8,
        "api": 16,
        "ctx": 24,
        "stage": 32,
        "args": 40,
        "rets": 80,
        "attrs": 120,
    },
    "XLA_FFI_Args": {"size": 16, "types": 24, "args": 32},
    "XLA_FFI_Rets": {"size": 16, "types": 24, "rets": 32},
    "XLA_FFI_Buffer": {"dtype": 16, "data": 24, "rank": 32, "dims": 40},
    "XLA_FFI_Api": {
        "XLA_FFI_Error_Create": 48,
        "XLA_FFI_Error_Destroy": 64,
        "XLA_FFI_Stream_Get": 80,
        "XLA_FFI_ThreadPool_Schedule": 136,
    },
    "XLA_FFI_Error_Create_Args": {"struct_size": 0, "message": 16, "errc": 24},
    "XLA_FFI_Error_Destroy_Args": {"struct_size": 0, "error": 16},
    "XLA_FFI_Stream_Get_Args": {"struct_size": 0, "ctx": 16, "stream": 24},
    "XLA_FFI_ThreadPool_Schedule_Args": {"struct_size": 0, "ctx": 16, "task": 24, "data": 32},
    "XLA_FFI_InternalExtension": {"type": 8},
    "XLA_FFI_Metadata_Extension": {"metadata": 24},
    "XLA_FFI_Metadata": {"api_version": 8, "traits": 32},
    "XLA_FFI_Api_Version": {"major_version": 16, "minor_version": 20},
}

# XLA refuses a struct whose first field is smaller than the one it knows.
SIZES: Final[dict[str, int]] = {
    "XLA_FFI_Error_Create_Args": 32,
    "XLA_FFI_Error_Destroy_Args": 24,
    "XLA_FFI_Stream_Get_Args": 32,
    "XLA_FFI_ThreadPool_Schedule_Args": 40,
}

# Enumerators that handlers compare or return.
CODES: Final[dict[str, int]] = {
    "XLA_FFI_Extension_Metadata": 1,
    "XLA_FFI_ExecutionStage_EXECUTE": 3,
    "XLA_FFI_Error_Code_INVALID_ARGUMENT": 3,
    "XLA_FFI_Error_Code_INTERNAL": 13,
    "XLA_FFI_DataType_TOKEN": 17,
    "XLA_FFI_HANDLER_TRAITS_COMMAND_BUFFER_COMPATIBLE": 1,
}

# XLA_FFI_DataType_<name> of every NumPy dtype that a native handler can carry.
DTYPES: Final[dict[np.dtype[Any], tuple[str, int]]] = {
    np.dtype(np.bool_): ("PRED", 1),
    np.dtype(np.int8): ("S8", 2),
    np.dtype(np.int16): ("S16", 3),
    np.dtype(np.int32): ("S32", 4),
    np.dtype(np.int64): ("S64", 5),
    np.dtype(np.uint8): ("U8", 6),
    np.dtype(np.uint16): ("U16", 7),
    np.dtype(np.uint32): ("U32", 8),
    np.dtype(np.uint64): ("U64", 9),
    np.dtype(np.float32): ("F32", 11),
    np.dtype(np.float64): ("F64", 12),
    np.dtype(np.complex64): ("C64", 15),
    np.dtype(np.complex128): ("C128", 18),
}

# Floats of 16 bits, in which only some toolchains compute.
HALF_DTYPES: Final[dict[np.dtype[Any], tuple[str, int]]] = {
    np.dtype(np.float16): ("F16", 10),
    np.dtype(ml_dtypes.bfloat16): ("BF16", 16),
}


@functools.cache
def check_platform() -> None:
    """Raise UnsupportedPlatformError where the offsets above do not hold; look once per process."""
    if (bits := 8 * struct.calcsize("P")) != 64:
        raise UnsupportedPlatformError(
            f"native handlers need 64-bit pointers, this Python has {bits}-bit ones; use a 64-bit Python"
        )
    header = Path(jax.ffi.include_dir(), _HEADER)
    if header.is_file():
        check_version(header.read_text())


def check_version(header: str) -> None:
    """Refuse a jaxlib whose header declares another major version of XLA FFI; warn of a newer minor one.

    Raises UnsupportedPlatformError for a newer major version, whose structs may differ. A minor version only
    adds fields behind those above: it should work, with an UnknownAPIWarning.
    """
    version = tuple(map(int, _DECLARED.findall(header)))
    # A header without both numbers says nothing that could be compared.
    if len(version) != 2 or version <= COMPARED:
        return
    installed, compared = (f"XLA FFI {major}.{minor}" for major, minor in (version, COMPARED))
    if version[0] != COMPARED[0]:
        raise UnsupportedPlatformError(
            f"the installed jaxlib has {installed}, and ffi_bridge knows the structs up to {compared}; "
            "install a newer ffi-bridge, or an older jax"
        )
    warnings.warn(
        f"the installed jaxlib has {installed}, and ffi_bridge was compared with {compared} at most; structs "
        "may only grow, so that it should work; look for a newer ffi-bridge",
        UnknownAPIWarning,
        stacklevel=2,
    )

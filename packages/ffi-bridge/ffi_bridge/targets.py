"""Native handlers by name, and handlers that are Python functions: for kernels in a debugger, and refusals.

Each handler is registered with XLA once, and kept for the process. XLA may call it as long as any compiled
program names it, and nobody tells us when the last one is gone; so neither Numba nor LLVM can free it safely,
and targets live as long as the process. No compiler is needed here: an installation that has none refuses in
the same words.
"""

import ctypes
import re
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

import jax

from ffi_bridge.abi import API_VERSION, CODES, OFFSETS, SIZES, check_platform

# JAX's platform -> the name that XLA registers it under.
REGISTERED_AS: Final = {"cuda": "CUDA", "cpu": "cpu"}


@dataclass(frozen=True)
class Target:
    """A registered handler: its name in XLA programs, its address, and the owner of its machine code."""

    name: str
    address: int
    owner: object


_targets: Final[dict[tuple[str, str], Target]] = {}  # XLA knows a name on each platform
_registering: Final = threading.RLock()


def target_name(kernel: str, toolchain: str, digest: str) -> str:
    """Return the name of a kernel's target, of letters and digits that LLVM and XLA take in a name."""
    return f"{re.sub(r'[^0-9A-Za-z_.<>-]', '_', kernel)}.{toolchain}.{digest}"


def ensure_target(name: str, build: Callable[[], tuple[int, object]], *, platform: str) -> Target:
    """Return the target `name` of a platform; if it is new, build and register it.

    `build` returns the address of the handler, and its owner, which is kept. Safe from several threads: one
    of them builds, the others wait and share the result.
    """
    # Looked up without the lock first: all calls but the first find it.
    key = platform, name
    if (target := _targets.get(key)) is not None:
        return target
    with _registering:
        if (target := _targets.get(key)) is not None:
            return target
        check_platform()
        address, owner = build()
        jax.ffi.register_ffi_target(name, jax.ffi.pycapsule(address), platform=platform)
        _targets[key] = Target(name, address, owner)
        return _targets[key]


def targets() -> Mapping[str, Target]:
    """Return all targets of this process by name."""
    return MappingProxyType({name: target for (_, name), target in _targets.items()})


HANDLER = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)


@dataclass(frozen=True)
class FrameReader:
    """The `XLA_FFI_CallFrame` at an address."""

    address: int

    def answer_metadata(self) -> bool:
        """Answer if XLA asks for version and traits (none: no graph records Python), and return whether."""
        extension = self._pointer(self.address, "XLA_FFI_CallFrame", "extension_start")
        question = CODES["XLA_FFI_Extension_Metadata"]
        if not extension or self._int32(extension, "XLA_FFI_InternalExtension", "type").value != question:
            return False
        metadata = self._pointer(extension, "XLA_FFI_Metadata_Extension", "metadata")
        at = metadata + OFFSETS["XLA_FFI_Metadata"]["api_version"]
        for name, value in zip(("major_version", "minor_version"), API_VERSION, strict=True):
            self._int32(at, "XLA_FFI_Api_Version", name).value = value
        self._int32(metadata, "XLA_FFI_Metadata", "traits").value = 0
        return True

    @property
    def is_execution(self) -> bool:
        """Return whether this is the stage in which handlers work."""
        stage = self._int32(self.address, "XLA_FFI_CallFrame", "stage").value
        return stage == CODES["XLA_FFI_ExecutionStage_EXECUTE"]

    def addresses(self) -> list[int]:
        """Return the addresses of the data of all operands, then of all results; tokens have none."""
        data: list[int] = []
        token = CODES["XLA_FFI_DataType_TOKEN"]
        for side, struct, member in (("args", "XLA_FFI_Args", "args"), ("rets", "XLA_FFI_Rets", "rets")):
            base = self.address + OFFSETS["XLA_FFI_CallFrame"][side]
            size = ctypes.c_int64.from_address(base + OFFSETS[struct]["size"]).value
            table = self._pointer(base, struct, member)
            buffers = (ctypes.c_void_p * size).from_address(table) if size else ()
            data += [
                # ctypes reads a null pointer as None.
                self._pointer(buffer or 0, "XLA_FFI_Buffer", "data")
                for buffer in buffers
                if self._int32(buffer or 0, "XLA_FFI_Buffer", "dtype").value != token
            ]
        return data

    def stream(self) -> int:
        """Return the CUDA stream that XLA runs this call on; 0 where the platform has none."""
        arguments = self._arguments("XLA_FFI_Stream_Get_Args")
        base = ctypes.addressof(arguments)
        at = OFFSETS["XLA_FFI_Stream_Get_Args"]
        context = self._pointer(self.address, "XLA_FFI_CallFrame", "ctx")
        ctypes.c_void_p.from_address(base + at["ctx"]).value = context
        failed = self._api("XLA_FFI_Stream_Get")(base)
        return 0 if failed else self._pointer(base, "XLA_FFI_Stream_Get_Args", "stream")

    def error(self, text: str) -> int | None:
        """Return a new `XLA_FFI_Error`, for the handler to return."""
        arguments = self._arguments("XLA_FFI_Error_Create_Args")
        base, message = ctypes.addressof(arguments), ctypes.create_string_buffer(text.encode())
        at = OFFSETS["XLA_FFI_Error_Create_Args"]
        ctypes.c_void_p.from_address(base + at["message"]).value = ctypes.addressof(message)
        ctypes.c_int32.from_address(base + at["errc"]).value = CODES["XLA_FFI_Error_Code_INTERNAL"]
        created: int | None = self._api("XLA_FFI_Error_Create")(base)
        return created

    def _api(self, name: str) -> Any:
        table = self._pointer(self.address, "XLA_FFI_CallFrame", "api")
        return HANDLER(self._pointer(table, "XLA_FFI_Api", name))

    def _arguments(self, struct: str) -> Any:
        memory = ctypes.create_string_buffer(SIZES[struct])
        ctypes.c_int64.from_buffer(memory).value = SIZES[struct]
        return memory

    def _pointer(self, base: int, struct: str, field: str) -> int:
        return ctypes.c_void_p.from_address(base + OFFSETS[struct][field]).value or 0

    def _int32(self, base: int, struct: str, field: str) -> Any:
        return ctypes.c_int32.from_address(base + OFFSETS[struct][field])


def python_handler(work: Callable[[FrameReader], None], name: str | None) -> tuple[int, object]:
    """Return the address of a handler that does `work` at every execution, and its owner.

    An exception of `work` becomes one of XLA, whose text begins with `name` and the type; without a name it
    is the text of the exception alone.
    """

    def handle(address: int) -> int | None:
        frame = FrameReader(address)
        if frame.answer_metadata() or not frame.is_execution:
            return None
        try:
            work(frame)
        except Exception as error:  # a callback of C cannot raise: XLA does, with this text
            return frame.error(f"{name} raised {type(error).__name__}: {error}" if name else str(error))
        return None

    # Returned as the owner: when it is collected its address is gone.
    handler = HANDLER(handle)
    return ctypes.cast(handler, ctypes.c_void_p).value or 0, handler

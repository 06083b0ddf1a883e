"""Numba kernels as Python functions, where NUMBA_DISABLE_JIT is set: to step through them in a debugger."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numba import types

from ffi_bridge.identity.fingerprint import fingerprint
from ffi_bridge.native.buffers import buffers_of
from ffi_bridge.native.call import NativeCall
from ffi_bridge.native.frame_reader import FrameReader, python_handler
from ffi_bridge.native.python_handler import ElementBuffer, elements
from ffi_bridge.native.target import ensure_target, target_name
from ffi_bridge.numba_cpu.call import NumbaKernel


@dataclass(frozen=True, eq=False)
class NumbaPython(NumbaKernel):
    """A kernel that Numba leaves as it is: `dispatcher` is the function itself."""

    for_sizes: ClassVar[bool] = True

    @property
    def function(self) -> Callable[..., None]:
        return self.dispatcher

    @property
    def is_parallel(self) -> bool:
        return False

    def ensure_target(
        self, ins: Sequence[Any], call: NativeCall, names: tuple[str, ...], platform: str
    ) -> str:
        buffers = buffers_of(ins, call, names)
        sizes = call.sizes
        kinds = self.buffer_types(ins, call, names)
        constants = call.options.constants

        def work(frame: FrameReader) -> None:
            for places in elements(frame, buffers, sizes):
                arguments = self.parameters.arguments(map(_argument, places, kinds), constants)
                with np.errstate(all="ignore"):  # machine code warns of nothing either
                    self.function(*arguments)

        contents = fingerprint(self.function, repr((self.aliases, buffers, sizes, constants, kinds)))
        name = target_name(self.name, "numba_python", contents.digest)
        return ensure_target(
            name, lambda: python_handler(work, f"kernel '{self.name}'"), platform=platform
        ).name


def _argument(place: ElementBuffer, kind: types.Type) -> Any:
    """Return the array, or its element where the kernel takes a number."""
    return _array(place, kind.mutable) if isinstance(kind, types.Array) else _array(place, False)[()]


def _array(place: ElementBuffer, writeable: bool) -> np.ndarray[Any, Any]:
    array: np.ndarray[Any, Any] = np.empty(place.shape, place.dtype)
    if array.size:  # an empty buffer may have no address
        memory = (ctypes.c_ubyte * array.nbytes).from_address(place.address)
        array = np.ctypeslib.as_array(memory).view(place.dtype).reshape(place.shape)
    array.flags.writeable = writeable
    return array

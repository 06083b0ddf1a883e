"""A Python function that XLA calls at every execution, on its stream: for what cannot be recorded."""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import numpy as np

from ffi_bridge.buffer_spec import BufferSpec, buffers_of
from ffi_bridge.cuda_driver import cuda_driver
from ffi_bridge.cuda_program import REGISTERED_AS
from ffi_bridge.fingerprint import fingerprint, references
from ffi_bridge.frame_reader import HANDLER, FrameReader
from ffi_bridge.native_call import NativeCall
from ffi_bridge.numba_cuda_call import FunctionKernel
from ffi_bridge.numba_cuda_compile import compiler_of, compilers, is_dispatcher
from ffi_bridge.target import ensure_target


@dataclass(frozen=True)
class NumbaHost:
    """The arrays, streams and launches of a compiler itself; `cuda`: its module."""

    cuda: Any

    @classmethod
    def of(cls, function: Any) -> NumbaHost:
        """That of the kernels which a function names; numba-cuda's if it names none."""
        code = getattr(function, "__code__", None)
        named = [value for _, value in references(function, code) if is_dispatcher(value)] if code else []
        return cls((compiler_of(named[0]) if named else next(compilers())).cuda)

    def array(self, address: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
        """A device array over memory of XLA's."""
        memory = {"shape": shape, "typestr": dtype.str, "data": (address, False), "version": 3}
        holder = type("Memory", (), {"__cuda_array_interface__": memory})()
        return self.cuda.as_cuda_array(holder, sync=False)

    def stream(self, handle: int) -> Any:
        """XLA's stream as one of the compiler's."""
        return self.cuda.external_stream(handle)

    def session(self) -> AbstractContextManager[None]:
        """Nothing to be changed."""
        return contextlib.nullcontext()


@dataclass(frozen=True, eq=False)
class NumbaCudaPython(FunctionKernel):
    """A function that is run at every call; for a batch, once for every element."""

    def ensure_target(
        self, ins: Sequence[Any], call: NativeCall, names: tuple[str, ...], platform: str
    ) -> str:
        driver = cuda_driver()
        buffers = buffers_of(ins, call, names)
        sizes = tuple(size for size, _ in call.levels)
        host = driver.python_host() or NumbaHost.of(self.function)

        def build() -> tuple[int, object]:
            handler = HANDLER(lambda address: self._run(FrameReader(address), host, buffers, sizes))
            return ctypes.cast(handler, ctypes.c_void_p).value or 0, handler

        contents = fingerprint(self.function, repr((self.aliases, buffers, sizes)))
        name = f"{self.name}.numba_cuda_python.{contents.digest}"
        return ensure_target(name, build, platform=REGISTERED_AS[driver.platform]).name

    def _run(
        self, frame: FrameReader, host: Any, buffers: Sequence[BufferSpec], sizes: tuple[int, ...]
    ) -> int | None:
        if frame.answer_metadata() or not frame.is_execution:
            return None
        try:
            addresses, stream = frame.addresses(), host.stream(frame.stream())
            with host.session():
                for element in np.ndindex(*sizes):
                    places = zip(addresses, buffers, strict=True)
                    arrays = [_array(host, *of_one, element, sizes) for of_one in places]
                    self.function(*arrays, stream)
        except Exception as error:  # a callback of C cannot raise: XLA does, with this text
            return frame.error(f"'{self.name}' raised {type(error).__name__}: {error}")
        return None


def _array(
    host: Any, address: int, spec: BufferSpec, element: tuple[int, ...], sizes: tuple[int, ...]
) -> Any:
    """The array of one element of a batch."""
    own = (index for index, has in zip(element, spec.batched, strict=True) if has)
    offset = sum(index * stride for index, stride in zip(own, spec.batch_strides(sizes), strict=True))
    return host.array(address + offset, spec.shape, np.dtype(spec.dtype))

"""Functions that cannot be recorded: XLA calls them in Python, on its stream, at every execution."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import numpy as np

from ffi_bridge.cuda.driver import cuda_driver
from ffi_bridge.identity.fingerprint import fingerprint
from ffi_bridge.identity.references import references
from ffi_bridge.native.buffers import buffers_of
from ffi_bridge.native.call import NativeCall
from ffi_bridge.native.frame_reader import FrameReader, python_handler
from ffi_bridge.native.python_handler import elements
from ffi_bridge.native.target import REGISTERED_AS, ensure_target, target_name
from ffi_bridge.numba_cuda.call import FunctionKernel
from ffi_bridge.numba_cuda.compile import compiler_of, compilers, is_dispatcher


@dataclass(frozen=True)
class NumbaHost:
    """The arrays, streams and launches of a compiler itself; `cuda`: its module."""

    cuda: Any

    @classmethod
    def of(cls, function: Any) -> NumbaHost:
        """Return the host of the kernels that a function names; numba-cuda's if it names none."""
        code = getattr(function, "__code__", None)
        named = [value for _, value in references(function, code) if is_dispatcher(value)] if code else []
        return cls((compiler_of(named[0]) if named else next(compilers())).cuda)

    def array(self, address: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
        """Return a device array over memory of XLA's."""
        memory = {"shape": shape, "typestr": dtype.str, "data": (address, False), "version": 3}
        holder = type("Memory", (), {"__cuda_array_interface__": memory})()
        return self.cuda.as_cuda_array(holder, sync=False)

    def stream(self, handle: int) -> Any:
        """Return XLA's stream as one of the compiler's."""
        return self.cuda.external_stream(handle)

    def session(self) -> AbstractContextManager[None]:
        """Return a context that changes nothing."""
        return contextlib.nullcontext()


@dataclass(frozen=True, eq=False)
class NumbaCudaPython(FunctionKernel):
    """A function that is run at every call; for a batch, once for every element.

    The options of a call are the values of its static parameters.
    """

    def ensure_target(
        self, ins: Sequence[Any], call: NativeCall, names: tuple[str, ...], platform: str
    ) -> str:
        driver = cuda_driver()
        buffers = buffers_of(ins, call, names)
        sizes = call.sizes
        function = self.parameters.function
        host = driver.python_host() or NumbaHost.of(function)

        def work(frame: FrameReader) -> None:
            stream = host.stream(frame.stream())
            with host.session():
                for places in elements(frame, buffers, sizes):
                    arrays = (host.array(*place) for place in places)
                    function(*self.parameters.arguments([*arrays, stream], call.options))

        contents = fingerprint(function, repr((self.aliases, buffers, sizes)), call.options)
        name = target_name(self.name, "numba_cuda_python", contents.digest)
        return ensure_target(
            name, lambda: python_handler(work, f"'{self.name}'"), platform=REGISTERED_AS[driver.platform]
        ).name

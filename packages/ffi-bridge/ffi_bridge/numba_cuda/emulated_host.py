"""A compiler's host side for the emulated GPU: device memory is memory, and a launch is a loop."""

import ctypes
import inspect
import struct
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.lib.array_utils import byte_bounds

from ffi_bridge.cuda.cubin import Passed, PassedBuffer, PassedPointer
from ffi_bridge.cuda.driver import RunKernel
from ffi_bridge.cuda.extents import LaunchExtents
from ffi_bridge.numba_cuda.compile import array_type, compile_kernel, compiler_of
from ffi_bridge.numba_cuda.record import RecordedStream, redirected
from ffi_bridge.numba_cuda.toolchain import ArgumentType, Capability


class DeviceMemory(np.ndarray):
    """A NumPy array that can be copied to a host."""

    def copy_to_host(self) -> np.ndarray:
        """Return a copy."""
        return np.array(self)


class EmulatedHost:
    """The host side: arrays over XLA's memory, and launches by the driver, as native handlers launch."""

    def __init__(self, run: RunKernel, capability: Capability) -> None:
        self._run, self._capability = run, capability

    def array(self, address: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
        """Return an array over XLA's memory."""
        size = dtype.itemsize * int(np.prod(shape, dtype=np.int64))
        memory: Any = (ctypes.c_char * max(1, size)).from_address(address)
        return np.ndarray(shape, dtype, memory).view(DeviceMemory)

    def stream(self, handle: int) -> Any:
        """Return a stream that does nothing: all work is done in order."""
        return RecordedStream()

    def session(self) -> AbstractContextManager[None]:
        """Send launches and allocations of the compilers here within the block."""
        return redirected(self.launch, self.names)

    @property
    def names(self) -> Mapping[str, Callable[..., Any]]:
        """Return the replacements for functions of the module `cuda`."""
        return {
            "device_array": lambda shape, dtype=np.float64, **_: np.empty(shape, dtype).view(DeviceMemory),
            "device_array_like": lambda array, **_: np.empty_like(array),
            "to_device": lambda array, **_: np.array(array).view(DeviceMemory),
            "synchronize": lambda: None,
        }

    def launch(self, kernel: Any, extents: LaunchExtents, arguments: Sequence[Any]) -> None:
        """Compile a kernel for these arguments, and run it; an array may be written where NumPy's may."""
        values: list[Any] = [x if isinstance(x, np.ndarray) else np.asarray(x)[()] for x in arguments]
        names = [*inspect.signature(kernel.py_func).parameters]
        # A kernel with `*args` has fewer names than arguments.
        names += [f"{i}" for i in range(len(names), len(values))]
        kinds = [_kind(kernel, *of_one) for of_one in zip(names, values, strict=False)]
        cubin = compile_kernel(kernel, kinds, self._capability, with_ptx=True)
        compiler, packed = compiler_of(kernel), list[bytes]()
        pointers: list[PassedPointer] = []
        for i, value in enumerate(values):
            if not isinstance(value, np.ndarray):
                packed += compiler.number(value)
                continue
            # With a negative stride an array begins behind its first byte.
            behind = value.ctypes.data - byte_bounds(value)[0]
            for word in compiler.array(value.shape, value.strides, value.itemsize):
                if word is None:
                    pointers.append(PassedPointer(len(packed), 0, behind, i))
                packed.append(struct.pack("<q", value.ctypes.data if word is None else word))
        passed = Passed(tuple(map(len, packed)), tuple(map(_passed, names, values)), tuple(pointers))
        given = extents.grid, extents.block, extents.shared
        # Numba, too, launches a kernel so by whether it synchronises its grid.
        self._run(cubin, passed, given, 0, packed, cubin.synchronises_grid)


def _kind(kernel: Any, name: str, value: Any) -> ArgumentType:
    """Return the type of an argument."""
    if not isinstance(value, np.ndarray):
        return value.dtype
    kind = array_type(kernel.__name__, name, value.dtype, value.ndim, readonly=not value.flags.writeable)
    return replace(kind, contiguous=value.flags.c_contiguous)


def _passed(name: str, value: Any) -> PassedBuffer:
    """Return the memory that an argument may use: from its first element to its last."""
    if not isinstance(value, np.ndarray):
        return PassedBuffer(name, (), str(value.dtype), 0, is_read_only=True, is_written=True)
    low, high = byte_bounds(value)
    is_read_only = not value.flags.writeable
    return PassedBuffer(name, value.shape, str(value.dtype), high - low, is_read_only, is_written=True)

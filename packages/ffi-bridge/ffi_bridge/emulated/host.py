"""A compiler's host side for the emulated GPU: device memory is memory, and a launch is a loop."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from ffi_bridge.cuda.extents import LaunchExtents
from ffi_bridge.numba_cuda.host import redirected
from ffi_bridge.numba_cuda.record import RecordedStream

Launch = Callable[[Any, LaunchExtents, Sequence[Any]], None]


class DeviceMemory(np.ndarray):
    """A NumPy array that can be copied to a host."""

    def copy_to_host(self) -> np.ndarray:
        """Return a copy."""
        return np.array(self)


class EmulatedHost:
    """The host side: arrays over XLA's memory, and launches by the given function."""

    def __init__(self, launch: Launch) -> None:
        self._launch = launch

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
        return redirected(self)

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
        """Run a kernel."""
        self._launch(kernel, extents, arguments)

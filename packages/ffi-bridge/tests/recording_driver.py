"""A CUDA driver that launches nothing, and keeps what it was asked to load and to launch."""

import ctypes
from typing import Any

from cubin import parameters_of

from ffi_bridge.cuda.cubin import Cubin, Passed
from ffi_bridge.cuda.driver import CudaFunctions
from ffi_bridge.cuda.program import (
    ERROR_NAME_CALLBACK,
    LAUNCH_CALLBACK,
    LAUNCH_EX_CALLBACK,
    LaunchConfig,
)


class RecordingDriver:
    """`calls`: (kernel, extents with shared memory, stream, bytes of every parameter) of each launch.

    A parameter is as long as the kernel's machine code says; of kernels that were not loaded here, `sizes`.
    `attributes`: the 72 bytes of each attribute of each launch that has some.
    """

    platform, capability = "cuda", (9, 0)
    reads_ptx = runs_warp = False

    def __init__(self, sizes: tuple[int, ...] = ()) -> None:
        self.sizes, self.status = sizes, 0
        self.loaded: list[tuple[Cubin, int]] = []
        self.calls: list[tuple[int, tuple[int, ...], int, list[bytes]]] = []
        self.attributes: list[bytes] = []
        callbacks = LAUNCH_CALLBACK(self._launch), ERROR_NAME_CALLBACK(self._name)
        self._kept = *callbacks, LAUNCH_EX_CALLBACK(self._launch_ex)

    def functions(self) -> CudaFunctions:
        launch, name, launch_ex = (ctypes.cast(f, ctypes.c_void_p).value or 0 for f in self._kept)
        return CudaFunctions(launch, name, launch_ex=launch_ex)

    def load(self, cubin: Cubin, shared: int, passed: Passed) -> int:
        self.loaded.append((cubin, shared))
        return len(self.loaded)

    def _launch_ex(self, config: int, kernel: int, parameters: int, extra: int) -> int:
        given = LaunchConfig.from_address(config)
        self.attributes.append(ctypes.string_at(given.attributes, 72 * given.num_attributes))
        return self._launch(kernel, *given.extents, given.stream, parameters, extra)

    def _launch(self, kernel: int, *rest: Any) -> int:
        extents, (stream, parameters, extra) = rest[:7], rest[7:]
        assert extra is None
        sizes = self.sizes
        if not sizes:
            cubin, _ = self.loaded[kernel - 1]
            sizes = tuple(size for _, size in parameters_of(cubin.code, cubin.entry))
        pointers = (ctypes.c_void_p * len(sizes)).from_address(parameters)
        values = [ctypes.string_at(pointer, size) for pointer, size in zip(pointers, sizes, strict=True)]
        self.calls.append((kernel, extents, stream, values))
        return self.status

    def _name(self, status: int, name: int) -> int:
        ctypes.c_char_p.from_address(name).value = b"CUDA_ERROR_LAUNCH_TIMEOUT"
        return 0

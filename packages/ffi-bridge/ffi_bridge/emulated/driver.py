"""A stand-in for the CUDA driver, which takes launches as the real one does and runs them in Python."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product
from random import Random
from typing import Any

import numpy as np

from ffi_bridge.cuda.driver import Cubin, check_shared
from ffi_bridge.cuda.emit import ERROR_NAME_CALLBACK, LAUNCH_CALLBACK, CudaFunctions
from ffi_bridge.cuda.extents import LaunchExtents
from ffi_bridge.emulated.block import Block, Dim3, run_block
from ffi_bridge.emulated.host import EmulatedHost
from ffi_bridge.emulated.twin import Twin
from ffi_bridge.numba_cuda.compile import compiler_of
from ffi_bridge.numba_cuda.toolchain import ArrayType, Compiler, described_array, num_words

MOST_SHARED = 227 * 1024  # bytes for a block, as compute capability 9.0 has
LAUNCH_FAILED = 719  # CUDA_ERROR_LAUNCH_FAILED


@dataclass(frozen=True)
class Launched:
    """One launch, with the arguments that the driver got."""

    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared: int
    stream: int
    shapes: tuple[tuple[int, ...], ...]


@dataclass(eq=False)
class EmulatedDriver:
    """A driver that compiles for a real GPU and launches on none; `loaded` and `launches` list what it did.

    Blocks and threads run from first to last, or in the order of `turns`.
    """

    capability: tuple[int, int] = (9, 0)
    platform: str = "cpu"
    has_stream: bool = False
    turns: Random | None = None
    launches: list[Launched] = field(default_factory=list)
    loaded: list[Cubin] = field(default_factory=list)
    _callbacks: tuple[Any, ...] = ()
    _error: bytes = b""

    def functions(self) -> CudaFunctions:
        """Return callbacks into Python."""
        if not self._callbacks:
            self._callbacks = LAUNCH_CALLBACK(self._launch), ERROR_NAME_CALLBACK(self._name_error)
        launch, name = (ctypes.cast(callback, ctypes.c_void_p).value or 0 for callback in self._callbacks)
        return CudaFunctions(launch, name, self.has_stream)

    def load(self, cubin: Cubin, shared: int) -> int:
        """Keep the kernel; its handle is its number, from 1."""
        check_shared(cubin.entry, shared, MOST_SHARED)
        self.loaded.append(cubin)
        return len(self.loaded)

    def python_host(self) -> EmulatedHost:
        """Return the host side that Python functions use in place of a compiler's."""
        return EmulatedHost(self._launch_from_python)

    def _launch_from_python(self, kernel: Any, extents: LaunchExtents, arguments: Sequence[Any]) -> None:
        shapes = tuple(np.shape(x) for x in arguments)
        grid, block, shared = extents.grid, extents.block, extents.shared
        self.launches.append(Launched(kernel.__name__, grid, block, shared, 0, shapes))
        _run(kernel, grid, block, shared, arguments, self.turns)

    def _launch(self, kernel: int, *rest: int) -> int:
        grid_x, grid_y, grid_z, x, y, z, shared, stream, parameters, _ = rest
        cubin, grid, block = self.loaded[kernel - 1], (grid_x, grid_y, grid_z), (x, y, z)
        try:
            arguments = _arguments(compiler_of(cubin.kernel), parameters, cubin.arguments)
            shapes = tuple(x.shape for x in arguments)
            name = cubin.kernel.__name__
            self.launches.append(Launched(name, grid, block, shared, stream or 0, shapes))
            _run(cubin.kernel, grid, block, shared, arguments, self.turns)
        except Exception as error:  # a callback of C cannot raise: the launch fails with this text
            self._error = f"CUDA_ERROR_LAUNCH_FAILED, {type(error).__name__}: {error}".encode()
            return LAUNCH_FAILED
        return 0

    def _name_error(self, status: int, name: int) -> int:
        ctypes.c_char_p.from_address(name).value = self._error
        return 0


def _run(
    kernel: Any,
    grid: Sequence[int],
    block: Sequence[int],
    shared: int,
    arguments: Sequence[Any],
    turns: Random | None,
) -> None:
    twin = Twin(kernel.py_func)
    extents, blocks = Dim3(*block), Dim3(*grid)
    work = functools.partial(twin.function, *arguments)
    order = list(product(*map(range, (blocks.z, blocks.y, blocks.x))))
    if turns is not None:
        turns.shuffle(order)
    for z, y, x in order:
        run_block(Block(Dim3(x, y, z), extents, blocks, shared), work, together=twin.meets, turns=turns)


def _arguments(compiler: Compiler, parameters: int, kinds: Sequence[Any]) -> list[Any]:
    """Return the arguments of a launch, read from its parameters as a kernel of this compiler reads them."""
    arguments: list[Any] = []
    first = 0
    for kind in kinds:
        count = num_words(compiler, kind.ndim) if isinstance(kind, ArrayType) else 1
        places = (ctypes.c_void_p * count).from_address(parameters + first * ctypes.sizeof(ctypes.c_void_p))
        first += count
        if isinstance(kind, ArrayType):
            words = [ctypes.c_int64.from_address(place or 0).value for place in places]
            arguments.append(_array(kind, *described_array(compiler, words, kind.ndim, kind.dtype.itemsize)))
        else:
            arguments.append(np.frombuffer(ctypes.string_at(places[0] or 0, kind.itemsize), kind)[0])
    return arguments


def _array(kind: ArrayType, address: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> np.ndarray:
    spans = [max(0, n - 1) * stride for n, stride in zip(shape, strides, strict=True)]
    before, behind = -sum(min(0, span) for span in spans), sum(max(0, span) for span in spans)
    memory: Any = (ctypes.c_char * (before + behind + kind.dtype.itemsize)).from_address(address - before)
    array = np.ndarray(shape, kind.dtype, memory, before, strides)
    array.flags.writeable = not kind.readonly
    return array

"""Build a program of CUDA launches, and register the handler that runs it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from ffi_bridge.cuda.driver import Cubin, Driver, Passed, PassedBuffer, PassedPointer
from ffi_bridge.cuda.emit import CudaLaunch, CudaProgram, emit_handler
from ffi_bridge.cuda.extents import LaunchExtents
from ffi_bridge.handler.launch import Slot
from ffi_bridge.native.buffers import BufferSpec
from ffi_bridge.native.target import REGISTERED_AS, ensure_target


class ProgramBuilder:
    """A program in the making: launches, and the constant structs that they take as parameters."""

    def __init__(
        self,
        driver: Driver,
        buffers: Sequence[BufferSpec],
        num_inputs: int,
        aliases: Sequence[tuple[int, int]] = (),
    ) -> None:
        self._driver = driver
        self._buffers = buffers
        self._num_inputs = num_inputs
        self._updated = {*(i for i, _ in aliases), *(num_inputs + out for _, out in aliases)}
        self._structs: list[bytes] = []
        self._slots: list[list[Slot]] = [[] for _ in buffers]
        self._launches: list[tuple[str, Cubin, LaunchExtents, tuple[int, ...]]] = []

    def struct(self, content: bytes) -> int:
        """Add a parameter, and return its number."""
        self._structs.append(content)
        return len(self._structs) - 1

    def point(self, buffer: int, struct: int, offset: int, displacement: int = 0) -> None:
        """Write a buffer's address plus `displacement` bytes at `offset` of a parameter in every call."""
        self._slots[buffer].append((struct, offset, displacement))

    def launch(self, name: str, cubin: Cubin, extents: LaunchExtents, parameters: Sequence[int]) -> None:
        """Add the launch of a kernel."""
        self._launches.append((name, cubin, extents, tuple(parameters)))

    def finish(self, sizes: Sequence[int], loop: bool) -> CudaProgram:
        """Load the kernels, and return the program.

        `sizes`: extents of the batch levels; `loop`: run it for each element.
        """
        passed = tuple(self._passed(i, () if loop else sizes) for i in range(len(self._buffers)))
        launches = [
            CudaLaunch(
                name,
                self._driver.load(cubin, extents.shared, self._passed_by(parameters, passed, number == 0)),
                *(extents.grid, extents.block, extents.shared),
                parameters,
            )
            for number, (name, cubin, extents, parameters) in enumerate(self._launches)
        ]
        buffers = (
            spec.with_slots(slots, sizes) for spec, slots in zip(self._buffers, self._slots, strict=True)
        )
        return CudaProgram(
            tuple(launches),
            tuple(self._structs),
            self._num_inputs,
            tuple(buffers),
            tuple(sizes) if loop else (),
        )

    def _passed(self, i: int, sizes: Sequence[int]) -> PassedBuffer:
        """Return a buffer as launches get it: all elements of a batch, or one for no `sizes`."""
        spec, is_input = self._buffers[i], i < self._num_inputs
        shape = (*spec.batch_shape(sizes), *spec.shape) if sizes else spec.shape
        dtype = np.dtype(spec.dtype)
        return PassedBuffer(
            spec.name,
            shape,
            str(dtype),
            dtype.itemsize * math.prod(shape),
            is_read_only=is_input and i not in self._updated,
            is_written=is_input or i in self._updated,
        )

    def _passed_by(
        self, parameters: Sequence[int], buffers: tuple[PassedBuffer, ...], is_first: bool
    ) -> Passed:
        """Return what parameters that have these numbers pass to a kernel."""
        pointers = (
            PassedPointer(position, offset, displacement, buffer)
            for position, number in enumerate(parameters)
            for buffer, slots in enumerate(self._slots)
            for struct, offset, displacement in slots
            if struct == number
        )
        sizes = tuple(len(self._structs[i]) for i in parameters)
        return Passed(sizes, buffers, tuple(pointers), is_first)


def ensure_program_target(name: str, driver: Driver, build: Callable[[], CudaProgram]) -> str:
    """Return the target `name`, which runs a program; build and register it if it is new."""
    return ensure_target(
        name,
        lambda: ((code := emit_handler(name, build(), driver.functions())).address, code),
        platform=REGISTERED_AS[driver.platform],
    ).name

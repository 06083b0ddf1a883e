"""Build a program of CUDA launches, and register the handler that runs it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from ffi_bridge.cuda.driver import Driver
from ffi_bridge.cuda.emit import CudaLaunch, CudaProgram, emit_handler
from ffi_bridge.cuda.extents import LaunchExtents
from ffi_bridge.handler.launch import Slot
from ffi_bridge.native.buffers import BufferSpec
from ffi_bridge.native.target import ensure_target

# JAX's platform -> the name that XLA registers it under.
REGISTERED_AS: Final = {"cuda": "CUDA", "cpu": "cpu"}


class ProgramBuilder:
    """A program in the making: launches, and the constant structs that they take as parameters."""

    def __init__(self, buffers: Sequence[BufferSpec], num_inputs: int) -> None:
        self._buffers = buffers
        self._num_inputs = num_inputs
        self._structs: list[bytes] = []
        self._slots: list[list[Slot]] = [[] for _ in buffers]
        self._launches: list[CudaLaunch] = []

    def struct(self, content: bytes) -> int:
        """Add a parameter, and return its number."""
        self._structs.append(content)
        return len(self._structs) - 1

    def point(self, buffer: int, struct: int, offset: int, displacement: int = 0) -> None:
        """Write a buffer's address plus `displacement` bytes at `offset` of a parameter in every call."""
        self._slots[buffer].append((struct, offset, displacement))

    def launch(self, name: str, kernel: int, extents: LaunchExtents, parameters: Sequence[int]) -> None:
        """Add the launch of a loaded kernel."""
        self._launches.append(
            CudaLaunch(name, kernel, extents.grid, extents.block, extents.shared, tuple(parameters))
        )

    def finish(self, sizes: Sequence[int], loop: bool) -> CudaProgram:
        """Return the program; `sizes`: extents of the batch levels; `loop`: run it for each element."""
        buffers = (
            spec.with_slots(slots, sizes) for spec, slots in zip(self._buffers, self._slots, strict=True)
        )
        return CudaProgram(
            tuple(self._launches),
            tuple(self._structs),
            self._num_inputs,
            tuple(buffers),
            tuple(sizes) if loop else (),
        )


def ensure_program_target(name: str, driver: Driver, build: Callable[[], CudaProgram]) -> str:
    """Return the target `name`, which runs a program; build and register it if it is new."""
    return ensure_target(
        name,
        lambda: ((code := emit_handler(name, build(), driver.functions())).address, code),
        platform=REGISTERED_AS[driver.platform],
    ).name

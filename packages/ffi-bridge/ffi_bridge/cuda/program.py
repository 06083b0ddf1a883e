"""Put a program of CUDA launches together, and register the handler that runs it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from ffi_bridge.cuda.driver import Driver
from ffi_bridge.cuda.emit import CudaLaunch, CudaProgram, emit_handler
from ffi_bridge.cuda.extents import LaunchExtents
from ffi_bridge.handler.launch import Slot
from ffi_bridge.native.buffers import BufferSpec
from ffi_bridge.native.target import ensure_target

REGISTERED_AS: Final = {
    "cuda": "CUDA",
    "cpu": "cpu",
}  # JAX's platform -> the name that XLA registers it under


class ProgramBuilder:
    """Collects launches, and the constant structs that they take as parameters."""

    def __init__(self, buffers: Sequence[BufferSpec], num_inputs: int) -> None:
        self._buffers = buffers
        self._num_inputs = num_inputs
        self._structs: list[bytes] = []
        self._slots: list[list[Slot]] = [[] for _ in buffers]
        self._launches: list[CudaLaunch] = []

    def struct(self, content: bytes) -> int:
        """Add a parameter; returns its number."""
        self._structs.append(content)
        return len(self._structs) - 1

    def point(self, buffer: int, struct: int, offset: int, displacement: int = 0) -> None:
        """At `offset` of a parameter goes the address of a buffer, moved on by `displacement` bytes."""
        self._slots[buffer].append((struct, offset, displacement))

    def launch(self, name: str, kernel: int, extents: LaunchExtents, parameters: Sequence[int]) -> None:
        """Launch a loaded kernel after those before."""
        self._launches.append(
            CudaLaunch(name, kernel, extents.grid, extents.block, extents.shared, tuple(parameters))
        )

    def finish(self, sizes: Sequence[int], loop: bool) -> CudaProgram:
        """The program; `sizes`: extents of the batch levels; `loop`: repeat it for each element."""
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
    """The target `name`, which runs a program; built and registered now if it is new."""
    return ensure_target(
        name,
        lambda: ((code := emit_handler(name, build(), driver.functions())).address, code),
        platform=REGISTERED_AS[driver.platform],
    ).name

"""A stand-in for the CUDA driver, which takes launches as the real one does and runs their PTX on the CPU."""

import ctypes
import math
import threading
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from ffi_bridge.cuda.cubin import NOTHING_PASSED, Cubin, Passed
from ffi_bridge.cuda.driver import CudaFunctions, Driver, RunKernel, check_shared
from ffi_bridge.cuda.program import ERROR_NAME_CALLBACK, LAUNCH_CALLBACK, LAUNCH_EX_CALLBACK, LaunchConfig
from ffi_bridge.emulated.kept_objects import KeptObjects
from ffi_bridge.errors import KernelTypeError
from ffi_bridge.operators.dispatch import emulate, emulated
from ptx_on_cpu import Buffer, Checks, Kernel, Launch, Module, UnsupportedError
from ptx_on_cpu.counters import Resources, occupancy, resources_of
from ptx_on_cpu.kernel import MAX_SHARED

LAUNCH_FAILED: Final = 719  # CUDA_ERROR_LAUNCH_FAILED
POINTER: Final = ctypes.sizeof(ctypes.c_void_p)

Extents = tuple[int, int, int]


@dataclass(frozen=True)
class Launched:
    """One launch, with the extents that the driver got, and the shapes of the buffers that it points to."""

    kernel: str
    grid: Extents
    block: Extents
    shared: int
    stream: int
    shapes: tuple[tuple[int, ...], ...]
    cooperative: bool = False


@dataclass(frozen=True)
class Counted:
    """A launch of a counted kernel; `launch.counts` has its counters. `shared`: bytes of dynamic memory."""

    cubin: Cubin = field(repr=False)
    launch: Launch
    shared: int


@dataclass
class CallState:
    """A call, whose launches one thread makes: the bytes that they have written, and the error of one."""

    written: dict[int, Any] = field(default_factory=dict[int, Any])
    failure: bytes = b""


@dataclass(eq=False, repr=False)
class EmulatedDriver(Driver):
    """A driver that compiles for a real GPU and launches on none; `loaded` and `launches` record its work.

    `multiprocessors`: how many it has, few, so that grids that fill them are small; set it before the first
    call. `seed`: blocks and threads run in another order at every launch; None: from first to last. `checks`:
    what is checked beside bounds, alignment, read-only inputs and waiting. `counted`: whether launches write
    down what they execute and access, 32 bytes for each access of a thread, and `runs` keeps them until it is
    cleared.
    """

    capability: tuple[int, int] = (9, 0)  # pyright: ignore[reportIncompatibleMethodOverride]
    multiprocessors: int = 2  # pyright: ignore[reportIncompatibleMethodOverride]
    platform: str = "cpu"
    has_stream: bool = False
    reads_ptx: bool = True
    seed: int | None = None
    checks: Checks = field(default_factory=Checks)
    counted: bool = False
    runs: list[Counted] = field(default_factory=list[Counted])
    launches: list[Launched] = field(default_factory=list[Launched])
    loaded: list[Cubin] = field(default_factory=list[Cubin])
    _passed: list[Passed] = field(default_factory=list[Passed])
    _modules: dict[bytes, Module] = field(default_factory=dict[bytes, Module])
    _kernels: dict[tuple[bytes, str, Checks, bool], Kernel] = field(
        default_factory=dict[tuple[bytes, str, Checks, bool], Kernel]
    )
    _callbacks: tuple[Any, ...] = ()
    # By the operating system's thread: what is local to a Python thread is lost between callbacks of XLA's.
    _calls: dict[int, CallState] = field(default_factory=lambda: defaultdict(CallState))

    @property
    def backends(self) -> tuple[str, ...]:
        """Return the operators' backends for a GPU that JAX's CPU takes; assign names to change them.

        With "warp" among them all kernels of Warp run here, and otherwise as Warp's own code for the CPU.
        """
        return emulated()

    @backends.setter
    def backends(self, names: Iterable[str]) -> None:
        emulate(names)

    @property
    def runs_warp(self) -> bool:
        """Return whether kernels of Warp that JAX's CPU calls run here."""
        return "warp" in self.backends

    def functions(self) -> CudaFunctions:
        """Return callbacks into Python."""
        if not self._callbacks:
            # Kept, since handlers have their addresses as constants.
            self._callbacks = (
                LAUNCH_CALLBACK(self._launch),
                ERROR_NAME_CALLBACK(self._name_error),
                LAUNCH_EX_CALLBACK(self._launch_ex),
            )
        launch, name, launch_ex = (
            ctypes.cast(callback, ctypes.c_void_p).value or 0 for callback in self._callbacks
        )
        return CudaFunctions(launch, name, self.has_stream, launch_ex)

    def load(self, cubin: Cubin, shared: int, passed: Passed = NOTHING_PASSED) -> int:
        """Compile the kernel's PTX for the CPU; its handle is its number, from 1.

        Raises KernelTypeError for a kernel that only a GPU can run.
        """
        check_shared(cubin.entry, shared, MAX_SHARED)
        self._kernel(cubin)
        self.loaded.append(cubin)
        self._passed.append(passed)
        # Never 0, which stands for no kernel.
        return len(self.loaded)

    def max_cooperative_grid_blocks(self, cubin: Cubin, threads: int, shared: int) -> int:
        """Return the blocks on a multiprocessor, by the registers of the machine code, times multiprocessors.

        Triton and PTX alone come without machine code: their registers do not count.
        """
        taken = resources_of(cubin.code, cubin.entry) if cubin.code else Resources(0, 0, 0)
        limits = occupancy(self.capability, threads, taken.registers, taken.shared + shared)
        return limits.blocks * self.multiprocessors

    @property
    def run_kernel(self) -> RunKernel:
        """Return `run`, by which launches of Python functions come here, too."""
        return self.run

    def run(
        self,
        cubin: Cubin,
        passed: Passed,
        extents: tuple[Extents, Extents, int],
        stream: int,
        parameters: Sequence[bytes],
        cooperative: bool = False,
    ) -> None:
        """Run a kernel on parameters as a GPU gets them.

        `passed`: what they are; `extents`: of grid and block, and bytes of shared memory; `cooperative`:
        all blocks run at once.

        Raises ptx_on_cpu.LaunchError.
        """
        check_shared(cubin.entry, extents[2], MAX_SHARED)
        used = dict.fromkeys(pointer.buffer for pointer in passed.pointers)
        shapes = tuple(passed.buffers[i].shape for i in used)
        grid, block, shared = extents
        # Kernels of Warp have a `key` in place of a name.
        name = str(getattr(cubin.kernel, "__name__", None) or cubin.kernel.key)
        self.launches.append(Launched(name, grid, block, shared, stream, shapes, cooperative))
        count = len(self.launches)
        kernel = self._kernel(cubin)
        buffers = kernel.buffers()
        call = self._calls[threading.get_native_id()]
        if passed.is_first:
            call.written = {}
        # A launch may read what earlier launches of its call have written.
        buffers.written = call.written
        copies = [bytearray(parameter) for parameter in parameters]
        for address, buffer, places in _buffers(passed, copies):
            # Pointers are moved to the emulated GPU's addresses of the same buffers.
            first = buffers.add(buffer)
            for parameter, offset in places:
                at = int.from_bytes(parameter[offset : offset + POINTER], "little")
                parameter[offset : offset + POINTER] = (first + at - address).to_bytes(POINTER, "little")
        # Every launch has an order of its own, which the same seed repeats.
        seed = None if self.seed is None else self.seed + count
        packed = list(map(bytes, copies))
        most = None
        if cooperative:
            most = self.max_cooperative_grid_blocks(cubin, math.prod(block), shared)
        launch = kernel.launch(grid, block, packed, shared=shared, buffers=buffers, seed=seed, resident=most)
        if kernel.is_counted:
            self.runs.append(Counted(cubin, launch, shared))

    def _kernel(self, cubin: Cubin) -> Kernel:
        """Return the kernel for the CPU; kernels of one module share its variables."""
        # Checks and counting are instructions of their own in the kernel's code.
        key = (cubin.ptx, cubin.entry, self.checks, self.counted)
        if key not in self._kernels:
            try:
                if cubin.ptx not in self._modules:
                    self._modules[cubin.ptx] = Module(cubin.ptx, objects=KeptObjects())
                module = self._modules[cubin.ptx]
                self._kernels[key] = module.kernel(cubin.entry, self.checks, counted=self.counted)
            except UnsupportedError as error:
                raise KernelTypeError(f"the emulated GPU cannot run '{cubin.entry}': {error}") from error
        return self._kernels[key]

    def _launch(self, handle: int, *rest: int) -> int:
        *extents, stream, table, _ = rest
        return self._launched(handle, extents, stream, table)

    def _launch_ex(self, config: int, handle: int, table: int, _: int) -> int:
        given = LaunchConfig.from_address(config)
        # Handlers give attributes to cooperative launches alone.
        return self._launched(handle, given.extents, given.stream, table, given.num_attributes > 0)

    def _launched(
        self, handle: int, sizes: Sequence[int], stream: int, table: int, cooperative: bool = False
    ) -> int:
        """Run a launch; return 0, or the status of one that has failed."""
        grid_x, grid_y, grid_z, x, y, z, shared = sizes
        extents = (grid_x, grid_y, grid_z), (x, y, z), shared
        try:
            cubin, passed = self.loaded[handle - 1], self._passed[handle - 1]
            # The `void **kernelParams` of cuLaunchKernel.
            places = (ctypes.c_void_p * len(passed.sizes)).from_address(table)
            sized = zip(places, passed.sizes, strict=True)
            parameters = [ctypes.string_at(place or 0, size) for place, size in sized]
            self.run(cubin, passed, extents, stream or 0, parameters, cooperative)
        except Exception as error:  # a callback of C cannot raise: the launch fails with this text
            text = f"CUDA_ERROR_LAUNCH_FAILED, {type(error).__name__}: {error}"
            self._calls[threading.get_native_id()].failure = text.encode()
            return LAUNCH_FAILED
        return 0

    def _name_error(self, status: int, name: int) -> int:
        # The text lives as long as the state of the call has it.
        ctypes.c_char_p.from_address(name).value = self._calls[threading.get_native_id()].failure
        return 0


Places = list[tuple[bytearray, int]]


def _buffers(passed: Passed, parameters: Sequence[bytearray]) -> list[tuple[int, Buffer, Places]]:
    """Return the address of each buffer of a launch, the buffer, and the pointers to it.

    Buffers of one address are one: an input that an output takes the place of, or an array that is passed
    twice. A kernel may do with it what it may do with any of them.
    """
    by_address: dict[int, tuple[list[int], Places]] = {}
    for pointer in passed.pointers:
        parameter = parameters[pointer.parameter]
        at = int.from_bytes(parameter[pointer.offset : pointer.offset + POINTER], "little")
        # A pointer may lead into the middle of its buffer.
        numbers, places = by_address.setdefault(at - pointer.displacement, ([], []))
        numbers.append(pointer.buffer)
        places.append((parameter, pointer.offset))
    return [
        (address, _buffer(address, [passed.buffers[i] for i in dict.fromkeys(numbers)]), places)
        for address, (numbers, places) in by_address.items()
    ]


def _buffer(address: int, same: Sequence[Any]) -> Buffer:
    names = " and ".join(f"'{x.name}'" for x in same)
    largest = max(same, key=lambda x: x.size)
    return Buffer(
        f"argument {names} ({largest.dtype}[{','.join(map(str, largest.shape))}])",
        address,
        largest.size,
        is_read_only=all(x.is_read_only for x in same),
        is_written=any(x.is_written for x in same),
    )

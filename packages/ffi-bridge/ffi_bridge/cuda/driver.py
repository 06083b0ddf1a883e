"""The part of the CUDA driver that native handlers need: devices, loaded kernels, its functions.

A kernel is loaded as a CUkernel, which belongs to no context: one handle serves every GPU of the machine.
"""

import contextlib
import ctypes
import functools
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ffi_bridge.cuda.cubin import NOTHING_PASSED, Cubin, Passed
from ffi_bridge.errors import BackendUnavailableError, KernelDefinitionError

# Values of CUdevice_attribute and CUfunction_attribute in <cuda.h>.
_COMPUTE_CAPABILITY: Final = (75, 76)
_MULTIPROCESSORS: Final = 16
_MAX_SHARED_OPTIN: Final = 97
_MAX_DYNAMIC_SHARED: Final = 8

DEFAULT_SHARED: Final = 48 * 1024  # bytes that every kernel may ask for; more has to be enabled

# Two threads that trace may load one kernel.
_loading: Final = threading.RLock()

_chosen: Final[list[Any]] = []  # the Driver, once there is one


@dataclass(frozen=True)
class CudaFunctions:
    """Addresses of `cuLaunchKernel`, `cuGetErrorName` and `cuLaunchKernelEx`, 0 where no launch needs it.

    `has_stream`: whether XLA has a stream to ask for.
    """

    launch: int
    error_name: int
    has_stream: bool = True
    launch_ex: int = 0


# run(kernel, what is passed to it, (grid, block, bytes of shared memory), stream, parameters, cooperative)
RunKernel = Callable[
    [Cubin, Passed, tuple[tuple[int, int, int], tuple[int, int, int], int], int, Sequence[bytes], bool], None
]


class Driver(ABC):
    """The machine's CUDA driver, or a test's stand-in.

    `platform`: JAX's name of the platform whose programs call handlers of this driver; `reads_ptx`: whether
    `load` reads a kernel's PTX.
    """

    platform: str = "cuda"
    reads_ptx: bool = False

    @property
    @abstractmethod
    def capability(self) -> tuple[int, int]:
        """Return the compute capability that kernels are compiled for."""

    @property
    @abstractmethod
    def multiprocessors(self) -> int:
        """Return the number of multiprocessors of a GPU; of the smallest, where there are several."""

    @property
    def runs_warp(self) -> bool:
        """Return whether kernels of Warp on its platform are launched by it."""
        return True

    @property
    def run_kernel(self) -> RunKernel | None:
        """Return a function that runs a kernel on a GPU's parameters; None where handlers alone launch."""
        return None

    @abstractmethod
    def functions(self) -> CudaFunctions:
        """Return the functions that handlers call."""

    @abstractmethod
    def load(self, cubin: Cubin, shared: int, passed: Passed = ...) -> int:
        """Return the handle of a kernel, ready for launches with `shared` bytes of dynamic shared memory."""

    @abstractmethod
    def max_cooperative_grid_blocks(self, cubin: Cubin, threads: int, shared: int) -> int:
        """Return how many blocks of a kernel run at once on every GPU, which a cooperative launch needs.

        `threads`: of a block; `shared`: its bytes of dynamic shared memory.
        """


@dataclass(frozen=True)
class CudaDriver(Driver):
    """The driver of this machine; made by `cuda_driver`."""

    library: Any
    devices: tuple[int, ...]

    @functools.cached_property
    def capability(self) -> tuple[int, int]:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Return the lowest of all devices; code for it runs on later minor versions of the same major."""
        major, minor = _COMPUTE_CAPABILITY
        capabilities = sorted({(self._attribute(major, i), self._attribute(minor, i)) for i in self.devices})
        if capabilities[0][0] != capabilities[-1][0]:
            raise BackendUnavailableError(
                f"the GPUs of this machine have compute capabilities {capabilities}, of different major "
                "versions; hide those of one kind with CUDA_VISIBLE_DEVICES"
            )
        return capabilities[0]

    @functools.cached_property
    def multiprocessors(self) -> int:  # pyright: ignore[reportIncompatibleMethodOverride]
        return min(self._attribute(_MULTIPROCESSORS, device) for device in self.devices)

    def functions(self) -> CudaFunctions:
        library = self.library
        launch, name, launch_ex = (
            ctypes.cast(function, ctypes.c_void_p).value or 0
            for function in (library.cuLaunchKernel, library.cuGetErrorName, library.cuLaunchKernelEx)
        )
        return CudaFunctions(launch, name, launch_ex=launch_ex)

    def load(self, cubin: Cubin, shared: int, passed: Passed = NOTHING_PASSED) -> int:
        with _loading:
            return self._loaded(cubin.code, cubin.entry, shared)

    def max_cooperative_grid_blocks(self, cubin: Cubin, threads: int, shared: int) -> int:
        with _loading:
            kernel = ctypes.c_void_p(self._loaded(cubin.code, cubin.entry, shared))
            return min(self._resident(device, kernel, threads, shared) for device in self.devices)

    def _resident(self, device: int, kernel: Any, threads: int, shared: int) -> int:
        """Return how many blocks of a loaded kernel a device runs at once."""
        blocks = ctypes.c_int()
        with self._on(device):
            function = self._function(kernel)
            self._call(
                "cuOccupancyMaxActiveBlocksPerMultiprocessor",
                ctypes.byref(blocks),
                function,
                threads,
                ctypes.c_size_t(shared),
            )
        return blocks.value * self._attribute(_MULTIPROCESSORS, device)

    # A program that is being recorded into a graph may not load anything, so kernels are loaded here, once.
    @functools.cache  # noqa: B019  (one driver per process, and its kernels live as long)
    def _loaded(self, code: bytes, entry: str, shared: int) -> int:
        library, kernel = ctypes.c_void_p(), ctypes.c_void_p()
        self._call("cuLibraryLoadData", ctypes.byref(library), code, None, None, 0, None, None, 0)
        self._call("cuLibraryGetKernel", ctypes.byref(kernel), library, entry.encode())
        for device in self.devices:
            if shared > DEFAULT_SHARED:
                # More than the default has to be asked for, kernel by kernel and device by device.
                check_shared(entry, shared, self._attribute(_MAX_SHARED_OPTIN, device))
                self._call("cuKernelSetAttribute", _MAX_DYNAMIC_SHARED, shared, kernel, device)
            with self._on(device):
                self._function(kernel)
        return kernel.value or 0

    @contextlib.contextmanager
    def _on(self, device: int) -> Generator[None]:
        """Make the device's primary context, which JAX uses, the current one, and keep it alive."""
        context = ctypes.c_void_p()
        self._call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self._call("cuCtxPushCurrent_v2", context)
        try:
            yield
        finally:
            self._call("cuCtxPopCurrent_v2", ctypes.byref(ctypes.c_void_p()))

    def _function(self, kernel: Any) -> Any:
        """Return the function of a kernel in the current context, into which the driver loads it."""
        function = ctypes.c_void_p()
        self._call("cuKernelGetFunction", ctypes.byref(function), kernel)
        return function

    def _attribute(self, attribute: int, device: int) -> int:
        value = ctypes.c_int()
        self._call("cuDeviceGetAttribute", ctypes.byref(value), attribute, device)
        return value.value

    def _call(self, function: str, *arguments: Any) -> None:
        status = getattr(self.library, function)(*arguments)
        if status:
            name = ctypes.c_char_p()
            self.library.cuGetErrorName(status, ctypes.byref(name))
            text = (name.value or b"unknown error").decode()
            raise BackendUnavailableError(f"{function} failed with {text} ({status})")


def check_shared(entry: str, shared: int, most: int) -> None:
    """Raise KernelDefinitionError if a block asks for more than `most` bytes of dynamic shared memory."""
    if shared > most:
        raise KernelDefinitionError(
            f"kernel '{entry}' asks for {shared} bytes of shared memory; this GPU has at most {most} for a "
            "block"
        )


def cuda_driver() -> Driver:
    """Return the driver of this process; raise BackendUnavailableError where there is none, or no GPU."""
    with _loading:
        if not _chosen:
            # For good: the addresses of its functions are constants of handlers.
            _chosen.append(_machine_driver())
        return _chosen[0]


def chosen_driver() -> Driver | None:
    """Return the driver of this process, if it has one yet."""
    return next(iter(_chosen), None)


def use_driver(driver: Driver) -> None:
    """Use `driver` for the rest of the process; raise RuntimeError where handlers already have another."""
    with _loading:
        if _chosen:
            raise RuntimeError("a CUDA kernel was compiled before; choose the driver first")
        _chosen.append(driver)


def runs_warp_on(platform: str) -> bool:
    """Return whether kernels of Warp are compiled for a CUDA driver on this platform of JAX's."""
    return platform == "cuda" or any(x.platform == platform and x.runs_warp for x in _chosen)


def _machine_driver() -> CudaDriver:
    try:
        # The name without a number is a toolkit's, and may lead to a stub.
        library = ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        raise BackendUnavailableError(
            f"a CUDA kernel needs an NVIDIA GPU, and this machine has no CUDA driver ({error})"
        ) from error
    count, device = ctypes.c_int(), ctypes.c_int()
    # In a container there may be the library, and no device.
    if library.cuInit(0) or library.cuDeviceGetCount(ctypes.byref(count)) or not count.value:
        raise BackendUnavailableError("a CUDA kernel needs an NVIDIA GPU, and the CUDA driver sees none")
    devices: list[int] = []
    for ordinal in range(count.value):
        # The handle of a device need not be its number.
        library.cuDeviceGet(ctypes.byref(device), ordinal)
        devices.append(device.value)
    return CudaDriver(library, tuple(devices))

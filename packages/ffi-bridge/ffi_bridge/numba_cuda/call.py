"""Kernels of numba-cuda, and recorded sequences of them, as calls of the native primitive."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ffi_bridge.contents.fingerprint import fingerprint
from ffi_bridge.cuda.driver import cuda_driver
from ffi_bridge.cuda.extents import LaunchExtents
from ffi_bridge.cuda.program import ensure_program_target
from ffi_bridge.errors import KernelTypeError
from ffi_bridge.native.buffers import BufferSpec, buffers_of
from ffi_bridge.native.call import BY_ELEMENT, IN_KERNEL, NativeCall, NativeKernel
from ffi_bridge.numba_cpu.hints import unwritten_output
from ffi_bridge.numba_cpu.layout import parameter_names
from ffi_bridge.numba_cpu.stores import unused_parameters
from ffi_bridge.numba_cuda.compile import compiler_of
from ffi_bridge.numba_cuda.program import KernelLaunch, View, program_of


@dataclass(frozen=True, eq=False)
class CudaKernel(NativeKernel):
    """Kernels of numba-cuda or numba-cuda-mlir, on a GPU."""

    toolchain: ClassVar[str] = "numba-cuda"

    @property
    def platforms(self) -> tuple[str, ...]:
        return (cuda_driver().platform,)


@dataclass(frozen=True, eq=False)
class FunctionKernel(CudaKernel):
    """A Python function of all arrays and a stream."""

    function: Any

    vmap_methods: ClassVar[tuple[str | None, ...]] = BY_ELEMENT

    @property
    def name(self) -> str:
        return str(self.function.__name__)

    def buffer_names(self, num_inputs: int, num_outs: int) -> tuple[str, ...]:
        return tuple(f"in{i}" for i in range(num_inputs)) + tuple(f"out{i}" for i in range(num_outs))


@dataclass(frozen=True, eq=False)
class LaunchedKernel(CudaKernel):
    """A sequence of launches that is known when traced."""

    @abstractmethod
    def launches(self, buffers: Sequence[BufferSpec], call: NativeCall) -> tuple[KernelLaunch, ...]:
        """Return the launches of a call, in order."""

    def ensure_target(
        self, ins: Sequence[Any], call: NativeCall, names: tuple[str, ...], platform: str
    ) -> str:
        driver = cuda_driver()
        buffers = buffers_of(ins, call, names)
        launches = self.launches(buffers, call)
        sizes = call.sizes
        contents = fingerprint(
            [
                (compiler_of(x.dispatcher).version, x.dispatcher, repr(x.extents), repr(x.arguments))
                for x in launches
            ],
            repr((self.aliases, buffers, sizes)),
            driver.capability,
        )
        return ensure_program_target(
            f"{self.name}.numba_cuda.{contents.digest}",
            driver,
            lambda: program_of(driver, launches, buffers, len(ins), self.aliases, sizes),
        )


@dataclass(frozen=True, eq=False)
class NumbaCudaKernel(LaunchedKernel):
    """One dispatcher, launched once."""

    dispatcher: Any
    extents: LaunchExtents

    vmap_methods: ClassVar[tuple[str | None, ...]] = (*BY_ELEMENT, *IN_KERNEL)

    @property
    def name(self) -> str:
        return self.dispatcher.__name__

    def buffer_names(self, num_inputs: int, num_outs: int) -> tuple[str, ...]:
        return parameter_names(self.dispatcher.py_func, num_inputs, num_outs)

    def launches(self, buffers: Sequence[BufferSpec], call: NativeCall) -> tuple[KernelLaunch, ...]:
        unused = unused_parameters(self.dispatcher.py_func)
        for spec in (buffers[i - len(call.outs)] for i in self.results(call)):
            if spec.name in unused:
                raise KernelTypeError(unwritten_output(self.name, spec.name, len(spec.shape)))
        views = tuple(View.whole(i, spec) for i, spec in enumerate(buffers))
        return (KernelLaunch(self.dispatcher, self.extents, views),)


class NumbaCudaCallable(FunctionKernel, LaunchedKernel):
    """A function whose launches were recorded; the options of a call are those launches.

    Its temporaries are outputs behind those that the caller sees.
    """

    def launches(self, buffers: Sequence[BufferSpec], call: NativeCall) -> tuple[KernelLaunch, ...]:
        recorded: tuple[KernelLaunch, ...] = call.options
        return recorded

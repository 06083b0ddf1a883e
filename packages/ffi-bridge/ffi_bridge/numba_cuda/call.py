"""Kernels of numba-cuda, and recorded sequences of them, as calls of the native primitive."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from ffi_bridge.cuda.driver import cuda_driver
from ffi_bridge.cuda.extents import LaunchExtents, LaunchOptions
from ffi_bridge.cuda.program import ensure_program_target
from ffi_bridge.errors import KernelTypeError
from ffi_bridge.identity.fingerprint import fingerprint
from ffi_bridge.native.buffers import BufferSpec, buffers_of
from ffi_bridge.native.call import BY_ELEMENT, IN_KERNEL, NativeCall, NativeKernel
from ffi_bridge.native.exact import Constants
from ffi_bridge.native.parameters import Parameters
from ffi_bridge.native.primitive import refuse_symbolic
from ffi_bridge.native.target import target_name
from ffi_bridge.numba_cpu.error_messages import unwritten_output
from ffi_bridge.numba_cpu.layout import parameter_names
from ffi_bridge.numba_cpu.unwritten_outputs import unused_parameters
from ffi_bridge.numba_cuda.compile import compiler_of
from ffi_bridge.numba_cuda.entry import entry_of
from ffi_bridge.numba_cuda.program import KernelLaunch, View, program_of
from ffi_bridge.numba_cuda.rank import check_rank


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

    parameters: Parameters

    vmap_methods: ClassVar[tuple[str | None, ...]] = BY_ELEMENT

    @property
    def name(self) -> str:
        return str(self.parameters.function.__name__)

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
            target_name(self.name, "numba_cuda", contents.digest),
            driver,
            lambda: program_of(driver, launches, buffers, len(ins), self.aliases, sizes),
        )


@dataclass(frozen=True)
class Options:
    """Options of a call: the extents of its launch, and the values of static parameters."""

    extents: LaunchExtents
    constants: Constants


@dataclass(frozen=True, eq=False)
class NumbaCudaKernel(LaunchedKernel):
    """One dispatcher, launched once; a call's options are its `Options`."""

    dispatcher: Any
    parameters: Parameters
    launch: LaunchOptions

    vmap_methods: ClassVar[tuple[str | None, ...]] = (*BY_ELEMENT, *IN_KERNEL)

    @property
    def name(self) -> str:
        return self.dispatcher.__name__

    def buffer_names(self, num_inputs: int, num_outs: int) -> tuple[str, ...]:
        return parameter_names(self.dispatcher.py_func, num_inputs, num_outs, self.parameters.static)

    def options(self, ins: Sequence[Any], constants: Constants) -> Options:
        """Return the options of a call; raise KernelTypeError for sizes that no launch can have."""
        refuse_symbolic(self, [x.name for x in self.parameters.buffers], [x.shape for x in ins])
        subject = f"kernel '{self.name}'"
        extents = self.launch.for_call(subject, ins, dict(constants))
        option = "grid with block" if self.launch.launch_dims is None else "launch_dims"
        check_rank(subject, self.dispatcher, extents.rank, option)
        return Options(extents, constants)

    def with_batch_axis(
        self, ins: Sequence[Any], call: NativeCall, size: int
    ) -> tuple[Sequence[Any], NativeCall]:
        given, batched = super().with_batch_axis(ins, call, size)
        return given, replace(batched, options=self.options(given, call.options.constants))

    def launches(self, buffers: Sequence[BufferSpec], call: NativeCall) -> tuple[KernelLaunch, ...]:
        unused = unused_parameters(self.dispatcher.py_func)
        for spec in (buffers[i - len(call.outs)] for i in self.results(call)):
            if spec.name in unused:
                raise KernelTypeError(unwritten_output(self.name, spec.name, len(spec.shape)))
        written = {*range(len(buffers) - len(call.outs), len(buffers)), *dict(self.aliases)}
        for i, spec in enumerate(buffers):
            if spec.name in self.parameters.scalars:
                self.parameters.check_number(spec.name, len(spec.shape), i in written)
        chosen: Options = call.options
        kernel = entry_of(self.dispatcher, self.parameters, chosen.constants)
        views = tuple(View.whole(i, spec) for i, spec in enumerate(buffers))
        return (KernelLaunch(kernel, chosen.extents, views),)


class NumbaCudaCallable(FunctionKernel, LaunchedKernel):
    """A function whose launches were recorded; the options of a call are those launches.

    Its temporaries are outputs behind those that the caller sees.
    """

    def launches(self, buffers: Sequence[BufferSpec], call: NativeCall) -> tuple[KernelLaunch, ...]:
        recorded: tuple[KernelLaunch, ...] = call.options
        return recorded

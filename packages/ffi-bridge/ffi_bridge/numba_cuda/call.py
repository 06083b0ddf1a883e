"""Kernels of numba-cuda, recorded sequences of them, and functions in Python, as native calls."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from ffi_bridge.cuda.driver import cuda_driver
from ffi_bridge.cuda.extents import LaunchExtents, LaunchOptions
from ffi_bridge.cuda.program import ensure_program_target
from ffi_bridge.errors import KernelTypeError
from ffi_bridge.identity.fingerprint import fingerprint
from ffi_bridge.identity.references import references
from ffi_bridge.native.buffers import BufferSpec, buffers_of, elements
from ffi_bridge.native.call import BY_ELEMENT, IN_KERNEL, NativeCall, NativeKernel
from ffi_bridge.native.exact import Constants
from ffi_bridge.native.parameters import Parameters
from ffi_bridge.native.primitive import refuse_symbolic
from ffi_bridge.numba_cpu.error_messages import unwritten_output
from ffi_bridge.numba_cpu.layout import parameter_names
from ffi_bridge.numba_cpu.unwritten_outputs import unused_parameters
from ffi_bridge.numba_cuda.compile import compiler_of, compilers, is_dispatcher
from ffi_bridge.numba_cuda.emulated_host import EmulatedHost
from ffi_bridge.numba_cuda.entry import check_rank, entry_of
from ffi_bridge.numba_cuda.program import KernelLaunch, View, program_of
from ffi_bridge.targets import REGISTERED_AS, FrameReader, ensure_target, python_handler, target_name


@dataclass(frozen=True, eq=False)
class CudaKernel(NativeKernel):
    """A sequence of launches of kernels of numba-cuda or numba-cuda-mlir, which is known when traced."""

    toolchain: ClassVar[str] = "numba-cuda"

    @property
    def platforms(self) -> tuple[str, ...]:
        return (cuda_driver().platform,)

    def launches(self, buffers: Sequence[BufferSpec], call: NativeCall) -> tuple[KernelLaunch, ...]:
        """Return the launches of a call, in order."""
        recorded: tuple[KernelLaunch, ...] = call.options
        return recorded

    def ensure_target(
        self, ins: Sequence[Any], call: NativeCall, names: tuple[str, ...], platform: str
    ) -> str:
        driver = cuda_driver()
        buffers = buffers_of(ins, call, names)
        launches = self.launches(buffers, call)
        sizes = call.sizes
        identity = fingerprint(
            [
                (compiler_of(x.dispatcher).version, x.dispatcher, repr(x.extents), repr(x.arguments))
                for x in launches
            ],
            repr((self.aliases, buffers, sizes)),
            driver.capability,
        )
        return ensure_program_target(
            target_name(self.name, "numba_cuda", identity.digest),
            driver,
            lambda: program_of(driver, launches, buffers, len(ins), self.aliases, sizes),
        )


@dataclass(frozen=True)
class Options:
    """Options of a call: the extents of its launch, and the values of static parameters."""

    extents: LaunchExtents
    constants: Constants


@dataclass(frozen=True, eq=False)
class NumbaCudaKernel(CudaKernel):
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
        operands, batched = super().with_batch_axis(ins, call, size)
        return operands, replace(batched, options=self.options(operands, call.options.constants))

    def launches(self, buffers: Sequence[BufferSpec], call: NativeCall) -> tuple[KernelLaunch, ...]:
        unused = unused_parameters(self.dispatcher.py_func)
        # From the end: outputs are the last buffers.
        for spec in (buffers[i - len(call.outs)] for i in self.results(call)):
            if spec.name in unused:
                raise KernelTypeError(unwritten_output(self.name, spec.name, len(spec.shape)))
        written = {*range(len(buffers) - len(call.outs), len(buffers)), *dict(self.aliases)}
        for i, spec in enumerate(buffers):
            if spec.name in self.parameters.scalars:
                self.parameters.check_number(spec.name, len(spec.shape), i in written)
        chosen: Options = call.options
        extents = *chosen.extents.grid, *chosen.extents.block
        self.refuse_no_threads([spec.name for spec in buffers], call, extents)
        kernel = entry_of(self.dispatcher, self.parameters, chosen.constants)
        views = tuple(View.whole(i, spec) for i, spec in enumerate(buffers))
        return (KernelLaunch(kernel, chosen.extents, views),)


@dataclass(frozen=True, eq=False)
class NumbaCudaCallable(CudaKernel):
    """A function of all arrays and a stream, whose launches were recorded; they are the options of a call.

    Its temporaries are outputs behind those that the caller sees.
    """

    parameters: Parameters

    noun: ClassVar[str] = "function"
    vmap_methods: ClassVar[tuple[str | None, ...]] = BY_ELEMENT

    @property
    def name(self) -> str:
        return str(self.parameters.function.__name__)

    def refuse_unfilled(self, launches: Sequence[KernelLaunch], num_inputs: int, call: NativeCall) -> None:
        """Raise KernelTypeError where threads are launched on none of an output that only they fill.

        `call`: of the outputs that the caller sees.
        """
        running = [x for x in launches if 0 not in (*x.extents.grid, *x.extents.block)]
        given = {x.buffer - num_inputs for launch in running for x in launch.arguments if isinstance(x, View)}
        for i in self.results(call):
            if i not in given:
                raise KernelTypeError(
                    f"function '{self.name}' launches no thread on its output "
                    f"'{self.parameters.buffers[num_inputs + i].name}', which would hold whatever was in its "
                    "memory; launch a kernel that writes it, or let the output begin as an input"
                )


@dataclass(frozen=True)
class NumbaHost:
    """The arrays, streams and launches of a compiler itself; `cuda`: its module."""

    cuda: Any

    @classmethod
    def of(cls, function: Any) -> NumbaHost:
        """Return the host of the kernels that a function names; numba-cuda's if it names none."""
        code = getattr(function, "__code__", None)
        named = [value for _, value in references(function, code) if is_dispatcher(value)] if code else []
        return cls((compiler_of(named[0]) if named else next(compilers())).cuda)

    def array(self, address: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
        """Return a device array over memory of XLA's."""
        memory = {"shape": shape, "typestr": dtype.str, "data": (address, False), "version": 3}
        holder = type("Memory", (), {"__cuda_array_interface__": memory})()
        # The function runs on XLA's stream, behind what has filled the memory.
        return self.cuda.as_cuda_array(holder, sync=False)

    def stream(self, handle: int) -> Any:
        """Return XLA's stream as one of the compiler's."""
        return self.cuda.external_stream(handle)

    def session(self) -> AbstractContextManager[None]:
        """Return a context that changes nothing."""
        return contextlib.nullcontext()


class NumbaCudaPython(NumbaCudaCallable):
    """A function that is run at every call; for a batch, once for every element.

    The options of a call are the values of its static parameters.
    """

    def ensure_target(
        self, ins: Sequence[Any], call: NativeCall, names: tuple[str, ...], platform: str
    ) -> str:
        driver = cuda_driver()
        buffers = buffers_of(ins, call, names)
        sizes = call.sizes
        function = self.parameters.function
        run = driver.run_kernel
        host = NumbaHost.of(function) if run is None else EmulatedHost(run, driver.capability)

        def work(frame: FrameReader) -> None:
            stream = host.stream(frame.stream())
            with host.session():
                for places in elements(frame, buffers, sizes):
                    arrays = (host.array(*place) for place in places)
                    function(*self.parameters.arguments([*arrays, stream], call.options))

        identity = fingerprint(function, repr((self.aliases, buffers, sizes)), call.options)
        name = target_name(self.name, "numba_cuda_python", identity.digest)
        return ensure_target(
            name, lambda: python_handler(work, f"'{self.name}'"), platform=REGISTERED_AS[driver.platform]
        ).name

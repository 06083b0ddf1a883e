"""Numba CPU kernels as native calls: compiled, or, with NUMBA_DISABLE_JIT, as functions of Python."""

import ctypes
import importlib
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final

import llvmlite
import numba
import numpy as np
from numba import types

from ffi_bridge import debug
from ffi_bridge.errors import KernelTypeError
from ffi_bridge.identity.fingerprint import fingerprint
from ffi_bridge.native.buffers import ElementBuffer, buffers_of, elements
from ffi_bridge.native.call import BY_ELEMENT, IN_KERNEL, NativeCall, NativeKernel
from ffi_bridge.native.exact import Constants
from ffi_bridge.native.parameters import Parameters
from ffi_bridge.numba_cpu import error_messages, object_code
from ffi_bridge.numba_cpu.internals import global_compiler_lock
from ffi_bridge.numba_cpu.layout import Constant, Layout, array_type, parameter_names
from ffi_bridge.targets import FrameReader, ensure_target, python_handler, target_name

_VERSIONS: Final = (numba.__version__, llvmlite.__version__, sys.version_info[:2])
# Imported when something is compiled: that, with what it needs of Numba, takes as long as a cached call.
_COMPILER: Final = "ffi_bridge.numba_cpu.compile"


@dataclass(frozen=True)
class Options:
    """Options of a call that its machine code is made for; `num_threads`: None for as many as Numba has.

    `outputs_are_read`: of a derivative, whether the outputs of the kernel itself are, too.
    """

    num_threads: int | None
    constants: Constants
    outputs_are_read: bool = False


@dataclass(frozen=True, eq=False)
class NumbaKernel(NativeKernel):
    """A Numba dispatcher; a call's options are its `Options`."""

    dispatcher: Any  # a Dispatcher of Numba, which has no types of use here
    parameters: Parameters

    toolchain: ClassVar[str] = "Numba"
    is_derivative: ClassVar[bool] = False
    derivative_hint: ClassVar[str] = "; or pass differentiable=True for those that Enzyme makes"
    for_sizes: ClassVar[bool] = False
    vmap_methods: ClassVar[tuple[str | None, ...]] = (*BY_ELEMENT, *IN_KERNEL)

    @property
    def name(self) -> str:
        return self.dispatcher.__name__

    @property
    def function(self) -> Callable[..., None]:
        """The kernel as a function of Python."""
        return self.dispatcher.py_func

    @property
    def is_parallel(self) -> bool:
        """Return whether the kernel may have parallel regions."""
        return bool(self.dispatcher.targetoptions.get("parallel"))

    @property
    def contents(self) -> object:
        """Return an object whose contents identify the kernel."""
        return self.dispatcher

    def to_compile(self, arguments: Sequence[types.Type]) -> Any:
        """Return the dispatcher to compile for arguments of these types."""
        return self.dispatcher

    def buffer_names(self, num_inputs: int, num_outs: int) -> tuple[str, ...]:
        return parameter_names(self.function, num_inputs, num_outs, self.parameters.static)

    def ensure_target(
        self, ins: Sequence[Any], call: NativeCall, names: tuple[str, ...], platform: str
    ) -> str:
        arrays = self.buffer_types(ins, call, names)
        chosen: Options = call.options
        # To Numba a constant is a default that a call leaves out.
        constants = tuple((name, Constant(x)) for name, x in chosen.constants)
        arguments = self.parameters.arguments(arrays, constants)
        aliased = dict(self.aliases)
        read = tuple(name for i, name in enumerate(names[: len(ins)]) if i not in aliased)
        layout = Layout(
            self.name,
            names,
            len(ins),
            call.batched(len(ins)),
            debug.is_on(),
            self.ordered,
            read,
            is_derivative=self.is_derivative,
        )
        # LLVM takes the arguments for memory apart, which aliased ones are not.
        options = {"noalias": not self.aliases, "num_threads": chosen.num_threads}
        around = (
            tuple(map(str, arguments)),
            tuple(chosen.constants),
            repr(layout),
            *options.values(),
            _VERSIONS,
        )
        identity = fingerprint(self.contents, *around)
        name = target_name(self.name, "numba_cpu", identity.digest)

        def build() -> tuple[int, object_code.Loaded]:
            if identity.portable and (code := object_code.find(name)):
                return code
            compile_handler = importlib.import_module(_COMPILER).compile_handler
            kernel = self.to_compile(arguments)
            return compile_handler(kernel, arguments, layout, name, keep=identity.portable, **options)

        # Numba's lock first, then that of targets: compiling takes both, in this order.
        with global_compiler_lock:
            code: Any = ensure_target(name, build, platform="cpu").owner
        # By each call: an empty output may stay as it is, and has the same machine code as others.
        for i in self.results(call):
            if (output := names[len(ins) + i]) in code.unwritten:
                ndim = len(call.outs[i].shape)
                raise KernelTypeError(error_messages.unwritten_output(self.name, output, ndim))
        return name

    def buffer_types(self, ins: Sequence[Any], call: NativeCall, names: Sequence[str]) -> list[types.Type]:
        """Return Numba's types of the parameters that are buffers, a number's for one in `scalars`.

        Raise KernelTypeError for a dtype that Numba lacks, and for a number that has dimensions.
        """
        aliased = dict(self.aliases)
        specs = [(x.dtype, x.ndim - sum(axes)) for x, axes in zip(ins, call.batched(len(ins)), strict=False)]
        specs += [(out.dtype, len(out.shape)) for out in call.outs]
        arrays = [
            array_type(self.name, name, dtype, ndim, readonly=i < len(ins) and i not in aliased)
            for i, (name, (dtype, ndim)) in enumerate(zip(names, specs, strict=True))
        ]
        return [
            self._number(name, array) if name in self.parameters.scalars else array
            for name, array in zip(names, arrays, strict=True)
        ]

    def _number(self, name: str, array: types.Array) -> types.Type:
        """Return the type of a number, in place of an input without dimensions."""
        self.parameters.check_number(name, array.ndim, array.mutable)
        return array.dtype


@dataclass(frozen=True, eq=False)
class NumbaPython(NumbaKernel):
    """A kernel that Numba leaves as it is: `dispatcher` is the function itself."""

    for_sizes: ClassVar[bool] = True

    @property
    def function(self) -> Callable[..., None]:
        return self.dispatcher

    @property
    def is_parallel(self) -> bool:
        return False

    def ensure_target(
        self, ins: Sequence[Any], call: NativeCall, names: tuple[str, ...], platform: str
    ) -> str:
        buffers = buffers_of(ins, call, names)
        sizes = call.sizes
        kinds = self.buffer_types(ins, call, names)
        constants = call.options.constants

        def work(frame: FrameReader) -> None:
            for places in elements(frame, buffers, sizes):
                arguments = self.parameters.arguments(map(_argument, places, kinds), constants)
                with np.errstate(all="ignore"):  # machine code warns of nothing either
                    self.function(*arguments)

        identity = fingerprint(self.function, repr((self.aliases, buffers, sizes, constants, kinds)))
        name = target_name(self.name, "numba_python", identity.digest)
        return ensure_target(
            name, lambda: python_handler(work, f"kernel '{self.name}'"), platform=platform
        ).name


def _argument(place: ElementBuffer, kind: types.Type) -> Any:
    """Return the array, or its element where the kernel takes a number."""
    return _array(place, kind.mutable) if isinstance(kind, types.Array) else _array(place, False)[()]


def _array(place: ElementBuffer, writeable: bool) -> np.ndarray[Any, Any]:
    array: np.ndarray[Any, Any] = np.empty(place.shape, place.dtype)
    if array.size:  # an empty buffer may have no address
        memory = (ctypes.c_ubyte * array.nbytes).from_address(place.address)
        array = np.ctypeslib.as_array(memory).view(place.dtype).reshape(place.shape)
    array.flags.writeable = writeable
    return array

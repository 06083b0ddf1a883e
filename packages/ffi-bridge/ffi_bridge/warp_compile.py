"""Compile a Warp kernel for the arrays of one call, into a registered XLA FFI target."""

from __future__ import annotations

import ctypes
import functools
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import FunctionType
from typing import Any, Final

import warp as wp

from ffi_bridge import debug
from ffi_bridge.buffer_spec import BufferSpec
from ffi_bridge.errors import KernelDefinitionError, KernelTypeError
from ffi_bridge.fingerprint import fingerprint
from ffi_bridge.handler.launch import Slot
from ffi_bridge.handler.warp_cpu import WarpLaunch, emit_handler
from ffi_bridge.target import ensure_target
from ffi_bridge.warp_inside import array_t, launch_bounds
from ffi_bridge.warp_parameters import (
    DATA_OFFSET,
    GRAD_OFFSET,
    Parameter,
    array_struct,
    array_type,
    packed,
    scalar_struct,
    scalar_type,
)

# Warp's compiler and its caches are not made for several threads.
compiling: Final = threading.RLock()

_specialisations: Final[dict[Any, Any]] = {}

# A parameter, the buffer whose address it holds, and where in its struct.
Pointer = tuple[int, int, int]
Strides = tuple[int, ...]


@dataclass(frozen=True)
class Roles:
    """`buffers[i]`: the parameter that buffer i belongs to.

    `arguments`: parameter -> the buffer that is passed for it; `adjoints`: parameter -> the buffer passed for
    its adjoint, or None for a forward launch.
    """

    buffers: tuple[int, ...]
    arguments: Mapping[int, int]
    adjoints: Mapping[int, int] | None


@dataclass(frozen=True)
class WarpCall:
    """A launch to be compiled: the kernel, its parameters and buffers, dimensions, values, batch extents."""

    kernel: Any  # a warp.Kernel
    parameters: tuple[Parameter, ...]
    roles: Roles
    buffers: tuple[BufferSpec, ...]
    num_inputs: int
    dims: tuple[int, ...]
    statics: Mapping[int, Any]
    sizes: tuple[int, ...]

    def types(self) -> list[Any]:
        """Warp's type of every parameter; raises KernelTypeError where what is given does not fit."""
        given = self.roles.arguments
        return [
            array_type(self.kernel.key, p, self.buffers[given[i]].dtype, self.buffers[given[i]].shape)
            if p.is_array
            else scalar_type(self.kernel.key, p, self.statics[i])
            for i, p in enumerate(self.parameters)
        ]

    def values(self, concrete: Any, types: Sequence[Any], chosen: Mapping[int, int]) -> list[Any]:
        """Warp's C values of all parameters; of arrays that `chosen` gives no buffer, an empty one."""
        return [
            scalar_struct(concrete, p, types[i], self.statics[i])
            if not p.is_array
            else array_struct(types[i], self.buffers[chosen[i]].shape)
            if i in chosen
            else array_t()
            for i, p in enumerate(self.parameters)
        ]

    def bounds(self, concrete: Any, block_dim: int) -> bytes:
        """Warp's struct for the dimensions; raises KernelTypeError for those beyond `wp.tid()`."""
        try:
            return launch_bounds(self.dims, concrete, block_dim)
        except ValueError as error:
            raise KernelTypeError(
                f"kernel '{self.kernel.key}': launch dimensions {self.dims}: {error} Give it fewer threads, "
                "each of which does more"
            ) from error

    def passed(self) -> list[tuple[Mapping[int, int], list[Pointer]]]:
        """Parameter -> buffer, and pointers; of arguments, and of their adjoints if the launch has those."""
        arguments, adjoints = self.roles.arguments, self.roles.adjoints
        data = [(i, buffer, DATA_OFFSET) for i, buffer in arguments.items()]
        if adjoints is None:
            return [(arguments, data)]
        # Through `grad`, too, as Warp's tape does: it is how a view of an array finds its adjoint.
        grads = [(i, buffer, GRAD_OFFSET) for i, buffer in adjoints.items()]
        of_adjoints = [(i, buffer, DATA_OFFSET) for i, buffer in adjoints.items()]
        return [(arguments, data + grads), (adjoints, of_adjoints)]

    def batch_strides(self, parameter: int) -> tuple[Strides, Strides]:
        """Bytes from one element of each batch level to the next, of an argument and of its adjoint."""
        buffer = self.roles.arguments[parameter]
        adjoint = (self.roles.adjoints or {}).get(parameter, buffer)
        of_argument, of_adjoint = (
            self.buffers[i].with_slots((), self.sizes).strides for i in (buffer, adjoint)
        )
        return of_argument, of_adjoint

    def without_adjoint(self) -> KernelDefinitionError:
        """The error of a kernel that has none."""
        return KernelDefinitionError(
            f"kernel '{self.kernel.key}' has no adjoint; remove enable_backward=False from it or its module"
        )


def ensure_cpu_target(call: WarpCall) -> str:
    """The target that launches the kernel, or its adjoint, on these buffers; compiled now if it is new."""
    types = call.types()
    with compiling:
        concrete, module = _compiled(call.kernel, types)
        hooks = module.get_kernel_hooks(concrete)
        entry = hooks.forward if call.roles.adjoints is None else hooks.backward
        if entry is None:
            raise call.without_adjoint()
        structs, slots = _structs(call, concrete, types)
        launch = WarpLaunch(
            (call.bounds(concrete, 1), *structs),
            call.num_inputs,
            tuple(buffer.with_slots(slots[i], call.sizes) for i, buffer in enumerate(call.buffers)),
            call.sizes,
            debug.is_on(),
        )
        contents = fingerprint(module.module_hash, concrete.get_mangled_name(), repr(launch), wp.__version__)
        name = f"{call.kernel.key}.warp.{contents.digest}"
        address = ctypes.cast(entry, ctypes.c_void_p).value
        return ensure_target(
            name,
            # The module unloads its machine code when it is collected.
            lambda: ((code := emit_handler(address or 0, name, launch)).address, (code, module)),
            platform="cpu",
        ).name


def _compiled(kernel: Any, types: Sequence[Any]) -> tuple[Any, Any]:
    """The kernel, its type parameters resolved, and its loaded CPU module."""
    wp.init()
    try:
        concrete = specialised(kernel, types)
        module = concrete.module.load("cpu", 1)
    except Exception as error:
        raise KernelTypeError(f"kernel '{kernel.key}' does not compile: {error}") from error
    if module is None:
        raise KernelTypeError(
            f"kernel '{kernel.key}' is in the Warp module '{kernel.module.name}', which failed to compile "
            "before; see the error of its first use"
        )
    return concrete, module


def specialised(kernel: Any, types: Sequence[Any]) -> Any:
    """A generic kernel for these types, in a module of its own; any other kernel as it is.

    As an overload in the module of its file it would make Warp compile that file again for every new set of
    types, and in an order that differs from process to process, so that Warp's cache on disk would not help.

    Its module forgets the hash of its contents, so that constants of Python are looked at again.
    """
    concrete = _without_type_parameters(kernel, types) if kernel.is_generic else kernel
    concrete.module.hashers.clear()
    return concrete


def _without_type_parameters(kernel: Any, types: Sequence[Any]) -> Any:
    key = (kernel, tuple((t.dtype, t.ndim) if isinstance(t, wp.array) else t for t in types))
    if key not in _specialisations:
        generic = kernel.func
        function = FunctionType(
            generic.__code__, generic.__globals__, generic.__name__, generic.__defaults__, generic.__closure__
        )
        functools.update_wrapper(function, generic)
        function.__annotations__ = {arg.label: t for arg, t in zip(kernel.adj.args, types, strict=True)}
        _specialisations[key] = wp.kernel(function, module="unique")
        _specialisations[key].options.update(kernel.options)
    return _specialisations[key]


def _structs(call: WarpCall, concrete: Any, types: Sequence[Any]) -> tuple[list[bytes], list[list[Slot]]]:
    """The constant structs of a launch, and for every buffer where its address goes in them."""
    slots: list[list[Slot]] = [[] for _ in call.buffers]
    structs: list[bytes] = []
    for chosen, pointers in call.passed():
        content, offsets = packed(call.values(concrete, types, chosen))
        structs.append(content)
        for position, buffer, offset in pointers:
            slots[buffer].append((len(structs), offsets[position] + offset, 0))  # after the bounds
    return structs, slots

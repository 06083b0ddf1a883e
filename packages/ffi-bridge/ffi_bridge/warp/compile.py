"""Compile Warp kernels for the CPU, into a registered XLA FFI target that launches them.

Warp compiles a kernel into a C function `void f(launch_bounds *, args *)`, and its adjoint into one with a
third struct, the adjoints of the arguments.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import warp as wp
from llvmlite import ir

from ffi_bridge import debug
from ffi_bridge.errors import KernelTypeError
from ffi_bridge.handler.c_code import MachineCode, compile_function, new_module
from ffi_bridge.handler.frame import I64, NULL, POINTER, begin_handler
from ffi_bridge.handler.guards import Canaries, InputCopies, prefer_huge_pages
from ffi_bridge.handler.interruption import return_if_interrupted
from ffi_bridge.handler.launch import (
    LaunchBuffer,
    Slot,
    checked_addresses,
    copied,
    over_batch,
    write_addresses,
)
from ffi_bridge.identity.fingerprint import fingerprint
from ffi_bridge.identity.outside import Readings
from ffi_bridge.targets import ensure_target, target_name
from ffi_bridge.warp.internals import (
    annotated,
    entry_on_cpu,
    forget_contents,
    loaded_on_cpu,
    parameters_of,
    read_outside,
)
from ffi_bridge.warp.launch import Argument, WarpLaunch, WarpProgram


@dataclass(frozen=True)
class CpuLaunch:
    """One launch: the address of a C function, and which of a program's structs it takes, bounds first."""

    entry: int = field(repr=False)  # differs from process to process
    structs: tuple[int, ...]


@dataclass(frozen=True)
class CpuProgram:
    """Launches in order, the constant structs that they take, and the buffers that the structs point at.

    The first `num_inputs` buffers are operands, the rest results; `guarded`: those lie between canaries, and
    the operands `read` are compared with what they were.
    """

    launches: tuple[CpuLaunch, ...]
    structs: tuple[bytes, ...]
    num_inputs: int
    buffers: tuple[LaunchBuffer, ...]
    batch: tuple[int, ...]
    guarded: bool = False
    read: tuple[int, ...] = ()


def emit_handler(name: str, program: CpuProgram) -> MachineCode:
    """Compile the handler `name`."""
    module = new_module(name)
    frame = begin_handler(module, name)
    builder = frame.builder
    return_if_interrupted(frame)
    data = checked_addresses(frame, program.buffers, program.num_inputs)
    sizes = [ir.Constant(I64, buffer.size) for buffer in program.buffers]
    for pointer, size in list(zip(data, sizes, strict=True))[program.num_inputs :]:
        prefer_huge_pages(builder, pointer, size)
    kernel = name.partition(".")[0]
    copies, canaries = InputCopies(frame, kernel), Canaries(frame, kernel)
    if program.guarded:
        read = [(program.buffers[i].name, data[i], sizes[i]) for i in program.read]
        copies.keep(read)
        names = [buffer.name for buffer in program.buffers]
        data = canaries.around_outputs(names, data, sizes, program.num_inputs)
    structs = [copied(builder, content) for content in program.structs]
    with over_batch(builder, program.batch, program.buffers, data) as element:
        write_addresses(builder, structs, program.buffers, element)
        for launch in program.launches:
            kind = ir.FunctionType(ir.VoidType(), [POINTER] * len(launch.structs))
            entry = builder.inttoptr(ir.Constant(I64, launch.entry), kind.as_pointer())
            builder.call(entry, [structs[i] for i in launch.structs])
    canaries.check()
    copies.check()
    frame.leave()
    builder.ret(NULL)
    return compile_function(module, name)


# Warp's compiler and its caches are not thread-safe.
compiling: Final = threading.RLock()

_specialisations: Final[dict[Any, Any]] = {}


def ensure_cpu_target(call: WarpProgram) -> str:
    """Return the target that launches the kernels, or their adjoints, in order; compile it if it is new."""
    with compiling:
        modules = [_compiled(launch.kernel, launch.types) for launch in call.launches]
        for launch, (concrete, _) in zip(call.launches, modules, strict=True):
            call.refuse_writes(launch, concrete)
        program = _program(call, modules)
        versions = [(module.module_hash, kernel.get_mangled_name()) for kernel, module in modules]
        contents = fingerprint(versions, repr(program), wp.__version__)
        name = target_name(call.name, "warp", contents.digest)
        return ensure_target(
            name,
            # A module unloads its machine code when it is collected.
            lambda: ((code := emit_handler(name, program)).address, (code, modules)),
            platform="cpu",
        ).name


def _program(call: WarpProgram, modules: Sequence[tuple[Any, Any]]) -> CpuProgram:
    slots: list[list[Slot]] = [[] for _ in call.buffers]
    structs: list[bytes] = []
    launches: list[CpuLaunch] = []
    for launch, (concrete, module) in zip(call.launches, modules, strict=True):
        first = len(structs)
        structs.append(launch.bounds(concrete, 1))
        for arguments in launch.parameters:
            content, offsets = _packed(arguments)
            for argument, start in zip(arguments, offsets, strict=True):
                for buffer, offset, displacement in argument.pointers:
                    slots[buffer].append((len(structs), start + offset, displacement))
            structs.append(content)
        launches.append(CpuLaunch(_entry(launch, concrete, module), tuple(range(first, len(structs)))))
    is_forward = all(launch.adjoints is None for launch in call.launches)
    buffers = (spec.with_slots(of_one, call.sizes) for spec, of_one in zip(call.buffers, slots, strict=True))
    return CpuProgram(
        tuple(launches),
        tuple(structs),
        call.num_inputs,
        tuple(buffers),
        call.sizes,
        debug.is_on(),
        call.read if is_forward else (),
    )


def _packed(arguments: Sequence[Argument]) -> tuple[bytes, list[int]]:
    """Return the arguments as one C struct, and the offset of each."""
    fields = [(f"field{i}", argument.ctype) for i, argument in enumerate(arguments)]
    struct: Any = type("Arguments", (ctypes.Structure,), {"_fields_": fields})
    filled = struct(*(argument.value() for argument in arguments))
    return bytes(filled), [getattr(struct, name).offset for name, _ in fields]


def _entry(launch: WarpLaunch, concrete: Any, module: Any) -> int:
    """Return the address of the C function of a kernel, or of its adjoint."""
    entry = entry_on_cpu(module, concrete, adjoint=launch.adjoints is not None)
    if entry is None:
        raise launch.without_adjoint()
    return ctypes.cast(entry, ctypes.c_void_p).value or 0


def _compiled(kernel: Any, types: Sequence[Any]) -> tuple[Any, Any]:
    """Return the kernel with its type parameters resolved, and its loaded CPU module."""
    wp.init()
    try:
        concrete = specialised(kernel, types)
        module = loaded_on_cpu(concrete)
    except Exception as error:
        raise KernelTypeError(f"kernel '{kernel.key}' does not compile: {error}") from error
    if module is None:
        raise KernelTypeError(
            f"kernel '{kernel.key}' is in the Warp module '{kernel.module.name}', which failed to compile "
            "before; see the error of its first use"
        )
    return concrete, module


def read_by(kernel: Any) -> Readings:
    """Return the values that a kernel reads from outside."""
    with compiling:  # Warp notes in the kernel what it finds
        return read_outside(kernel)


def specialised(kernel: Any, types: Sequence[Any]) -> Any:
    """Return a generic kernel for these types, in a separate module, or a concrete kernel as it is.

    As an overload in the module of its file it would make Warp compile that file again for every new set of
    types, and in an order that differs from process to process, so that Warp's cache on disk would not help.

    Its module forgets the hash of its contents, so that constants of Python are looked at again.
    """
    concrete = _without_type_parameters(kernel, types) if kernel.is_generic else kernel
    forget_contents(concrete)
    return concrete


def _without_type_parameters(kernel: Any, types: Sequence[Any]) -> Any:
    key = (kernel, tuple((t.dtype, t.ndim) if isinstance(t, wp.array) else t for t in types))
    if key not in _specialisations:
        annotations = {name: t for (name, _), t in zip(parameters_of(kernel), types, strict=True)}
        _specialisations[key] = wp.kernel(annotated(kernel.func, annotations), module="unique")
        _specialisations[key].options.update(kernel.options)
    return _specialisations[key]

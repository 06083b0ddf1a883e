"""Compile Warp kernels for the CPU, into a registered XLA FFI target that launches them.

Warp compiles a kernel into a C function `void f(launch_bounds *, args *)`, and its adjoint into one with a
third struct, the adjoints of the arguments.
"""

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
from ffi_bridge.handler.launch import Program
from ffi_bridge.identity.fingerprint import fingerprint
from ffi_bridge.identity.outside import Readings
from ffi_bridge.native.buffers import Pointer, ProgramBuilder
from ffi_bridge.targets import ensure_target, target_name
from ffi_bridge.warp import internals
from ffi_bridge.warp.launch import Argument, WarpProgram


@dataclass(frozen=True)
class CpuLaunch:
    """One launch: the address of a C function, and which of a program's structs it takes, bounds first."""

    entry: int = field(repr=False)  # differs from process to process
    structs: tuple[int, ...]


def emit_handler(name: str, program: Program, read: Sequence[int] | None = None) -> MachineCode:
    """Compile the handler `name`.

    `read`: in the debug mode, the operands that are compared with what they were; results then lie between
    canaries.
    """
    module = new_module(name)
    frame = begin_handler(module, name)
    builder = frame.builder
    return_if_interrupted(frame)
    data = program.addresses(frame)
    sizes = [ir.Constant(I64, buffer.size) for buffer in program.buffers]
    for pointer, size in list(zip(data, sizes, strict=True))[program.num_inputs :]:
        prefer_huge_pages(builder, pointer, size)
    kernel = name.partition(".")[0]
    copies, canaries = InputCopies(frame, kernel), Canaries(frame, kernel)
    if read is not None:
        names = [buffer.name for buffer in program.buffers]
        copies.keep((names[i], data[i], sizes[i]) for i in read)
        data = canaries.around_outputs(names, data, sizes, program.num_inputs)
    with program.over_batch(builder, data) as structs:
        for launch in program.launches:
            kind = ir.FunctionType(ir.VoidType(), [POINTER] * len(launch.structs))
            # A constant address: the handler's owner keeps the module loaded.
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
        call.check_stores([concrete for concrete, _ in modules])
        program = _program(call, modules)
        read = None
        if debug.is_on():
            is_forward = all(launch.adjoints is None for launch in call.launches)
            read = call.read if is_forward else ()
        versions = [(module.module_hash, kernel.get_mangled_name()) for kernel, module in modules]
        identity = fingerprint(versions, repr((program, read)), wp.__version__)
        name = target_name(call.name, "warp", identity.digest)
        return ensure_target(
            name,
            # A module unloads its machine code when it is collected.
            lambda: ((code := emit_handler(name, program, read)).address, (code, modules)),
            platform="cpu",
        ).name


def _program(call: WarpProgram, modules: Sequence[tuple[Any, Any]]) -> Program:
    program = ProgramBuilder(call.buffers, call.num_inputs)
    launches: list[CpuLaunch] = []
    for launch, (concrete, module) in zip(call.launches, modules, strict=True):
        # On the CPU Warp's blocks are of one thread.
        structs = [program.struct(launch.bounds(concrete, 1))]
        structs += [program.struct(*_packed(arguments)) for arguments in launch.parameters]
        entry = internals.entry_on_cpu(module, concrete, adjoint=launch.adjoints is not None)
        if entry is None:
            raise launch.without_adjoint()
        launches.append(CpuLaunch(ctypes.cast(entry, ctypes.c_void_p).value or 0, tuple(structs)))
    return program.program(launches, call.sizes)


def _packed(arguments: Sequence[Argument]) -> tuple[bytes, list[Pointer]]:
    """Return the arguments as one C struct, and the pointers in it."""
    fields = [(f"field{i}", argument.ctype) for i, argument in enumerate(arguments)]
    struct: Any = type("Arguments", (ctypes.Structure,), {"_fields_": fields})
    pointers = [
        (buffer, getattr(struct, name).offset + offset, displacement)
        for (name, _), argument in zip(fields, arguments, strict=True)
        for buffer, offset, displacement in argument.pointers
    ]
    return bytes(struct(*(argument.value() for argument in arguments))), pointers


def _compiled(kernel: Any, types: Sequence[Any]) -> tuple[Any, Any]:
    """Return the kernel with its type parameters resolved, and its loaded CPU module."""
    wp.init()
    try:
        concrete = specialised(kernel, types)
        module = internals.loaded_on_cpu(concrete)
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
        return internals.read_outside(kernel)


def specialised(kernel: Any, types: Sequence[Any]) -> Any:
    """Return a generic kernel for these types, in a separate module, or a concrete kernel as it is.

    As an overload in the module of its file it would make Warp compile that file again for every new set of
    types, and in an order that differs from process to process, so that Warp's cache on disk would not help.

    Its module forgets the hash of its contents, so that constants of Python are looked at again.
    """
    concrete = _without_type_parameters(kernel, types) if kernel.is_generic else kernel
    internals.forget_hash(concrete)
    return concrete


def _without_type_parameters(kernel: Any, types: Sequence[Any]) -> Any:
    key = (kernel, tuple((t.dtype, t.ndim) if isinstance(t, wp.array) else t for t in types))
    if key not in _specialisations:
        annotations = {name: t for (name, _), t in zip(internals.parameters_of(kernel), types, strict=True)}
        # "unique": a module of its own, which is compiled alone.
        _specialisations[key] = wp.kernel(internals.annotated(kernel.func, annotations), module="unique")
        _specialisations[key].options.update(kernel.options)
    return _specialisations[key]

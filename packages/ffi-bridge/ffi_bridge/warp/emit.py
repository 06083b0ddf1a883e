"""Emit the XLA FFI handler of Warp kernels on the CPU.

Warp compiles a kernel into a C function `void f(launch_bounds *, args *)`, and its adjoint into one with a
third struct, the adjoints of the arguments.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from llvmlite import ir

from ffi_bridge.handler.engine import MachineCode, compile_function, new_module
from ffi_bridge.handler.frame import I64, NULL, POINTER, begin_handler
from ffi_bridge.handler.inputs import InputCopies
from ffi_bridge.handler.interruption import return_if_interrupted
from ffi_bridge.handler.launch import LaunchBuffer, checked_addresses, copied, over_batch, write_addresses
from ffi_bridge.handler.outputs import Canaries, prefer_huge_pages


@dataclass(frozen=True)
class CpuLaunch:
    """One launch: the address of a C function, and which of a program's structs it takes, bounds first."""

    entry: int = field(repr=False)  # differs from process to process
    structs: tuple[int, ...]


@dataclass(frozen=True)
class CpuProgram:
    """Launches in order, the constant structs that they take, and the buffers that those point at.

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

"""Emit the XLA FFI handler of a Warp kernel on the CPU.

Warp compiles a kernel into a C function `void f(launch_bounds *, args *)`, and its adjoint into one with a
third struct, the adjoints of the arguments.
"""

from __future__ import annotations

from dataclasses import dataclass

from llvmlite import ir

from ffi_bridge.handler.canaries import Canaries
from ffi_bridge.handler.engine import MachineCode, compile_function, new_module
from ffi_bridge.handler.frame import HANDLER_TYPE, I64, NULL, POINTER, Frame
from ffi_bridge.handler.huge_pages import prefer_huge_pages
from ffi_bridge.handler.launch import LaunchBuffer, checked_addresses, copied, over_batch, write_addresses


@dataclass(frozen=True)
class WarpLaunch:
    """What a handler passes: constant structs (launch bounds first), and the buffers they point at.

    `guarded`: outputs lie between canaries.
    """

    structs: tuple[bytes, ...]
    num_inputs: int
    buffers: tuple[LaunchBuffer, ...]
    batch: tuple[int, ...]
    guarded: bool = False


def emit_handler(entry: int, name: str, launch: WarpLaunch) -> MachineCode:
    """Machine code of the handler `name` that calls the C function at address `entry`."""
    module = new_module(name)
    function = ir.Function(module, HANDLER_TYPE, name=name)
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    frame = Frame(builder, function.args[0])
    frame.answer_metadata()
    frame.return_unless_execute()
    data = checked_addresses(frame, launch.buffers, launch.num_inputs)
    sizes = [ir.Constant(I64, buffer.size) for buffer in launch.buffers]
    for pointer, size in list(zip(data, sizes, strict=True))[launch.num_inputs :]:
        prefer_huge_pages(builder, pointer, size)
    canaries = Canaries(frame, name.partition(".")[0])
    if launch.guarded:
        names = [buffer.name for buffer in launch.buffers]
        data = canaries.around_outputs(names, data, sizes, launch.num_inputs)
    structs = [copied(builder, content) for content in launch.structs]
    with over_batch(builder, launch.batch, launch.buffers, data) as element:
        write_addresses(builder, structs, launch.buffers, element)
        kind = ir.FunctionType(ir.VoidType(), [POINTER] * len(structs))
        builder.call(builder.inttoptr(ir.Constant(I64, entry), kind.as_pointer()), structs)
    canaries.check()
    frame.leave()
    builder.ret(NULL)
    return compile_function(module, name)

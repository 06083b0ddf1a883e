"""Emit the XLA FFI handler of a Warp kernel on the CPU.

Warp compiles a kernel into a C function `void f(launch_bounds *, args *)`, and its adjoint into one with a
third struct, the adjoints of the arguments. JAX knows every shape when it traces, so the structs come ready
from Warp's own types; the handler copies them, writes the addresses of buffers into the copies, and calls.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from llvmlite import ir

from ffi_bridge.handler.engine import MachineCode, compile_function, new_module
from ffi_bridge.handler.frame import HANDLER_TYPE, I8, I64, NULL, POINTER, Frame
from ffi_bridge.handler.huge_pages import prefer_huge_pages
from ffi_bridge.handler.loop import count_to


@dataclass(frozen=True)
class WarpBuffer:
    """One operand or result of a Warp launch.

    `shape` with its batch axes; `dtype`: XLA's name and code; `size` in bytes; `slots`: (struct, byte offset)
    of every pointer to it; `strides`: bytes from one element of each batch level to the next, 0 where all
    share one.
    """

    name: str
    shape: tuple[int, ...]
    dtype: tuple[str, int]
    size: int
    slots: tuple[tuple[int, int], ...]
    strides: tuple[int, ...]


@dataclass(frozen=True)
class WarpLaunch:
    """What a handler passes: constant structs (launch bounds first), and the buffers they point at."""

    structs: tuple[bytes, ...]
    num_inputs: int
    buffers: tuple[WarpBuffer, ...]
    batch: tuple[int, ...]


def emit_handler(entry: int, name: str, launch: WarpLaunch) -> MachineCode:
    """Machine code of the handler `name` that calls the C function at address `entry`."""
    module = new_module(name)
    function = ir.Function(module, HANDLER_TYPE, name=name)
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    frame = Frame(builder, function.args[0])
    frame.answer_metadata()
    frame.return_unless_execute()
    data = _checked_buffers(frame, launch)
    for pointer, buffer in list(zip(data, launch.buffers, strict=True))[launch.num_inputs :]:
        prefer_huge_pages(builder, pointer, ir.Constant(I64, buffer.size))
    structs = [_copied(builder, content) for content in launch.structs]
    with ExitStack() as loops:
        for level, size in enumerate(launch.batch):
            index = loops.enter_context(count_to(builder, ir.Constant(I64, size)))
            data = [
                _advanced(builder, pointer, index, buffer.strides[level])
                for pointer, buffer in zip(data, launch.buffers, strict=True)
            ]
        _call(builder, entry, structs, data, launch)
    builder.ret(NULL)
    return compile_function(module, name)


def _checked_buffers(frame: Frame, launch: WarpLaunch) -> list[Any]:
    """Addresses of all buffers, inputs first, with their dtypes and shapes checked."""
    count = launch.num_inputs
    pointers = frame.buffers("args", count) + frame.buffers("rets", len(launch.buffers) - count)
    data: list[Any] = []
    for pointer, expected in zip(pointers, launch.buffers, strict=True):
        found = frame.buffer(pointer, len(expected.shape), expected.dtype, expected.name)
        for dim, size in zip(found.dims, expected.shape, strict=True):
            frame.require("==", dim, size, f"expected shape {expected.shape} for '{expected.name}'")
        data.append(found.data)
    return data


def _copied(builder: Any, content: bytes) -> Any:
    """A copy of a constant struct on the stack."""
    kind = ir.ArrayType(I8, len(content))
    with builder.goto_entry_block():
        storage = builder.alloca(kind)
        storage.align = 16
    builder.store(ir.Constant(kind, bytearray(content)), storage)
    return builder.bitcast(storage, POINTER)


def _advanced(builder: Any, pointer: Any, index: Any, stride: int) -> Any:
    return builder.gep(pointer, [builder.mul(index, ir.Constant(I64, stride))]) if stride else pointer


def _call(builder: Any, entry: int, structs: list[Any], data: list[Any], launch: WarpLaunch) -> None:
    for pointer, buffer in zip(data, launch.buffers, strict=True):
        for struct, offset in buffer.slots:
            slot = builder.gep(structs[struct], [ir.Constant(I64, offset)])
            builder.store(pointer, builder.bitcast(slot, POINTER.as_pointer()))
    kind = ir.FunctionType(ir.VoidType(), [POINTER] * len(structs))
    builder.call(builder.inttoptr(ir.Constant(I64, entry), kind.as_pointer()), structs)

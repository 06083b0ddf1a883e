"""Emit the XLA FFI handler that launches CUDA kernels on XLA's stream.

The handler neither allocates nor synchronises nor loads a module, so that XLA may record its launches into a
CUDA graph. It calls the driver's functions by address: a test puts its own in their place.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from llvmlite import ir

from ffi_bridge.abi import CODES
from ffi_bridge.handler.c_code import call_c
from ffi_bridge.handler.engine import MachineCode, compile_function, new_module
from ffi_bridge.handler.frame import I8, I32, I64, NULL, POINTER, Frame, begin_handler, constant_text
from ffi_bridge.handler.launch import LaunchBuffer, checked_addresses, copied, over_batch, write_addresses

# CUresult cuLaunchKernel(f, gridX, gridY, gridZ, blockX, blockY, blockZ, shared, stream, parameters, extra)
LAUNCH_TYPE = ir.FunctionType(I32, [POINTER, *[I32] * 7, POINTER, POINTER, POINTER])
# CUresult cuGetErrorName(error, const char **)
ERROR_NAME_TYPE = ir.FunctionType(I32, [I32, POINTER.as_pointer()])
# The same two as callbacks, for a stand-in in Python.
LAUNCH_CALLBACK = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_void_p, *[ctypes.c_uint] * 7, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p
)
ERROR_NAME_CALLBACK = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_void_p)
TEXT_SIZE = 1024


@dataclass(frozen=True)
class CudaLaunch:
    """One launch: the loaded kernel, its extents, and the numbers of the structs that are its parameters."""

    name: str
    kernel: int
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared: int
    parameters: tuple[int, ...]

    @property
    def is_empty(self) -> bool:
        return 0 in self.grid or 0 in self.block


@dataclass(frozen=True)
class CudaProgram:
    """Launches in order, the constant structs that they take, and the buffers that these point to.

    The first `num_inputs` buffers are operands, the rest results.
    """

    launches: tuple[CudaLaunch, ...]
    structs: tuple[bytes, ...]
    num_inputs: int
    buffers: tuple[LaunchBuffer, ...]
    batch: tuple[int, ...]


@dataclass(frozen=True)
class CudaFunctions:
    """Addresses of `cuLaunchKernel` and `cuGetErrorName`, and whether XLA has a stream to ask for."""

    launch: int
    error_name: int
    has_stream: bool = True


def emit_handler(name: str, program: CudaProgram, functions: CudaFunctions) -> MachineCode:
    """Return the machine code of the handler `name`."""
    module = new_module(name)
    frame = begin_handler(module, name, CODES["XLA_FFI_HANDLER_TRAITS_COMMAND_BUFFER_COMPATIBLE"])
    builder = frame.builder
    data = checked_addresses(frame, program.buffers, program.num_inputs)
    stream = frame.stream() if functions.has_stream else NULL
    structs = [copied(builder, content) for content in program.structs]
    # CUDA refuses an empty launch, for which there is nothing to do.
    launches = [launch for launch in program.launches if not launch.is_empty]
    tables = [_table(builder, [structs[i] for i in launch.parameters]) for launch in launches]
    with over_batch(builder, program.batch, program.buffers, data) as element:
        write_addresses(builder, structs, program.buffers, element)
        for launch, table in zip(launches, tables, strict=True):
            _emit_launch(frame, launch, table, stream, functions)
    builder.ret(NULL)
    return compile_function(module, name)


def _table(builder: Any, structs: Sequence[Any]) -> Any:
    """Return the `void **kernelParams` of a launch."""
    with builder.goto_entry_block():
        table = builder.alloca(ir.ArrayType(POINTER, len(structs)))
    zero = ir.Constant(I32, 0)
    for i, struct in enumerate(structs):
        builder.store(struct, builder.gep(table, [zero, ir.Constant(I32, i)]))
    return builder.bitcast(table, POINTER)


def _emit_launch(frame: Frame, launch: CudaLaunch, table: Any, stream: Any, functions: CudaFunctions) -> None:
    builder = frame.builder
    extents = [ir.Constant(I32, extent) for extent in (*launch.grid, *launch.block, launch.shared)]
    kernel = _at(builder, launch.kernel, POINTER)
    call = _at(builder, functions.launch, LAUNCH_TYPE.as_pointer())
    status = builder.call(call, [kernel, *extents, stream, table, NULL])
    with builder.if_then(builder.icmp_unsigned("!=", status, ir.Constant(I32, 0)), likely=False):
        builder.ret(frame.error("XLA_FFI_Error_Code_INTERNAL", _failure(frame, launch, status, functions)))


def _failure(frame: Frame, launch: CudaLaunch, status: Any, functions: CudaFunctions) -> Any:
    """Return the text of a failed launch, with the driver's name of the error."""
    builder, module = frame.builder, frame.builder.module
    with builder.goto_entry_block():
        name = builder.alloca(POINTER)
        text = builder.bitcast(builder.alloca(ir.ArrayType(I8, TEXT_SIZE)), POINTER)
    builder.store(constant_text(module, "unknown error"), name)
    builder.call(_at(builder, functions.error_name, ERROR_NAME_TYPE.as_pointer()), [status, name])
    sizes = f"grid {launch.grid}, block {launch.block}, {launch.shared} bytes of shared memory"
    pattern = constant_text(module, f"kernel '{launch.name}': cuLaunchKernel failed with %s (%d); {sizes}")
    arguments = [text, ir.Constant(I64, TEXT_SIZE), pattern, builder.load(name), status]
    call_c(builder, "snprintf", I32, arguments, variadic_from=3)
    return text


def _at(builder: Any, address: int, kind: Any) -> Any:
    return builder.inttoptr(ir.Constant(I64, address), kind)

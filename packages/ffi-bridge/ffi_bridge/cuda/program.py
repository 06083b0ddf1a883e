"""Programs of CUDA launches: built, and registered as the XLA FFI handler that runs them on XLA's stream.

The handler neither allocates nor synchronises nor loads a module, so that XLA may record its launches into a
CUDA graph. It calls the driver's functions by address: a test puts its own in their place.
"""

import ctypes
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from llvmlite import ir

from ffi_bridge.abi import CODES
from ffi_bridge.cuda.cubin import Cubin, Passed, PassedBuffer, PassedPointer
from ffi_bridge.cuda.driver import CudaFunctions, Driver
from ffi_bridge.cuda.extents import LaunchExtents
from ffi_bridge.handler.c_code import MachineCode, call_c, compile_function, new_module
from ffi_bridge.handler.frame import I8, I32, I64, NULL, POINTER, Frame, begin_handler, constant_text
from ffi_bridge.handler.launch import Program
from ffi_bridge.native.buffers import BufferSpec, ProgramBuilder
from ffi_bridge.targets import REGISTERED_AS, ensure_target

# CUresult cuLaunchKernel(f, gridX, gridY, gridZ, blockX, blockY, blockZ, shared, stream, parameters, extra)
LAUNCH_TYPE = ir.FunctionType(I32, [POINTER, *[I32] * 7, POINTER, POINTER, POINTER])
# CUlaunchConfig: three extents of the grid, of the block, shared, stream, attributes, their number
CONFIG_TYPE = ir.LiteralStructType([*[I32] * 7, POINTER, POINTER, I32])
# CUlaunchAttribute: id, padding, a value of 64 bytes, whose first number is all that is used here
ATTRIBUTE_TYPE = ir.LiteralStructType([I32, I32, I32, ir.ArrayType(I32, 15)])
COOPERATIVE = 2  # CU_LAUNCH_ATTRIBUTE_COOPERATIVE
# CUresult cuLaunchKernelEx(const CUlaunchConfig *, f, parameters, extra)
LAUNCH_EX_TYPE = ir.FunctionType(I32, [CONFIG_TYPE.as_pointer(), POINTER, POINTER, POINTER])
# CUresult cuGetErrorName(error, const char **)
ERROR_NAME_TYPE = ir.FunctionType(I32, [I32, POINTER.as_pointer()])
# The same three as callbacks, for a stand-in in Python.
LAUNCH_CALLBACK = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_void_p, *[ctypes.c_uint] * 7, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p
)
LAUNCH_EX_CALLBACK = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * 4)
ERROR_NAME_CALLBACK = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_void_p)
# Bytes for the text of a failed launch; `snprintf` cuts a longer one.
TEXT_SIZE = 1024


class LaunchConfig(ctypes.Structure):
    """A CUlaunchConfig, as stand-ins in Python read it."""

    _fields_ = (
        ("extents", ctypes.c_uint * 7),
        ("stream", ctypes.c_void_p),
        ("attributes", ctypes.c_void_p),
        ("num_attributes", ctypes.c_uint),
    )


@dataclass(frozen=True)
class CudaLaunch:
    """One launch: the loaded kernel, its extents, and the numbers of the structs that are its parameters.

    `cooperative`: all of its blocks run at once.
    """

    name: str
    kernel: int
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared: int
    parameters: tuple[int, ...]
    cooperative: bool = False


def emit_handler(name: str, program: Program, functions: CudaFunctions) -> MachineCode:
    """Return the machine code of the handler `name`."""
    module = new_module(name)
    # Without this trait XLA records no graph with the handler in it.
    frame = begin_handler(module, name, CODES["XLA_FFI_HANDLER_TRAITS_COMMAND_BUFFER_COMPATIBLE"])
    builder = frame.builder
    data = program.addresses(frame)
    stream = frame.stream() if functions.has_stream else NULL
    with program.over_batch(builder, data) as structs:
        for launch in program.launches:
            # CUDA refuses an empty launch, for which there is nothing to do.
            if 0 not in (*launch.grid, *launch.block):
                table = _table(builder, [structs[i] for i in launch.parameters])
                _emit_launch(frame, launch, table, stream, functions)
    builder.ret(NULL)
    return compile_function(module, name)


def _table(builder: Any, structs: Sequence[Any]) -> Any:
    """Return the `void **kernelParams` of a launch."""
    with builder.goto_entry_block():
        # In the entry block: within a loop an alloca takes more of the stack in each turn.
        table = builder.alloca(ir.ArrayType(POINTER, len(structs)))
    zero = ir.Constant(I32, 0)
    for i, struct in enumerate(structs):
        builder.store(struct, builder.gep(table, [zero, ir.Constant(I32, i)]))
    return builder.bitcast(table, POINTER)


def _emit_launch(frame: Frame, launch: CudaLaunch, table: Any, stream: Any, functions: CudaFunctions) -> None:
    builder = frame.builder
    extents = [ir.Constant(I32, extent) for extent in (*launch.grid, *launch.block, launch.shared)]
    kernel = _at(builder, launch.kernel, POINTER)
    if launch.cooperative:
        call = _at(builder, functions.launch_ex, LAUNCH_EX_TYPE.as_pointer())
        status = builder.call(call, [_cooperative(builder, extents, stream), kernel, table, NULL])
    else:
        call = _at(builder, functions.launch, LAUNCH_TYPE.as_pointer())
        status = builder.call(call, [kernel, *extents, stream, table, NULL])
    with builder.if_then(builder.icmp_unsigned("!=", status, ir.Constant(I32, 0)), likely=False):
        builder.ret(frame.error("XLA_FFI_Error_Code_INTERNAL", _failure(frame, launch, status, functions)))


def _cooperative(builder: Any, extents: Sequence[Any], stream: Any) -> Any:
    """Return the address of the CUlaunchConfig of a cooperative launch."""
    with builder.goto_entry_block():
        config, attribute = builder.alloca(CONFIG_TYPE), builder.alloca(ATTRIBUTE_TYPE)
        # The value of an attribute in C is a union with members of 8 bytes.
        attribute.align = 8
    builder.store(ir.Constant(ATTRIBUTE_TYPE, [COOPERATIVE, 0, 1, [0] * 15]), attribute)
    values = [*extents, stream, builder.bitcast(attribute, POINTER), ir.Constant(I32, 1)]
    content = ir.Constant(CONFIG_TYPE, ir.Undefined)
    for i, value in enumerate(values):
        content = builder.insert_value(content, value, i)
    builder.store(content, config)
    return config


def _failure(frame: Frame, launch: CudaLaunch, status: Any, functions: CudaFunctions) -> Any:
    """Return the text of a failed launch, with the driver's name of the error."""
    builder, module = frame.builder, frame.builder.module
    with builder.goto_entry_block():
        name = builder.alloca(POINTER)
        text = builder.bitcast(builder.alloca(ir.ArrayType(I8, TEXT_SIZE)), POINTER)
    builder.store(constant_text(module, "unknown error"), name)
    builder.call(_at(builder, functions.error_name, ERROR_NAME_TYPE.as_pointer()), [status, name])
    sizes = f"grid {launch.grid}, block {launch.block}, {launch.shared} bytes of shared memory"
    function = "a cooperative cuLaunchKernelEx" if launch.cooperative else "cuLaunchKernel"
    pattern = constant_text(module, f"kernel '{launch.name}': {function} failed with %s (%d); {sizes}")
    arguments = [text, ir.Constant(I64, TEXT_SIZE), pattern, builder.load(name), status]
    call_c(builder, "snprintf", I32, arguments, variadic_from=3)
    return text


def _at(builder: Any, address: int, kind: Any) -> Any:
    return builder.inttoptr(ir.Constant(I64, address), kind)


class CudaProgramBuilder(ProgramBuilder):
    """A program of CUDA launches in the making; structs are parameters of kernels."""

    def __init__(
        self,
        driver: Driver,
        buffers: Sequence[BufferSpec],
        num_inputs: int,
        aliases: Sequence[tuple[int, int]] = (),
    ) -> None:
        super().__init__(buffers, num_inputs)
        self._driver = driver
        # The two sides of an alias are one memory: both begin with values, and change.
        self._updated = {*(i for i, _ in aliases), *(num_inputs + out for _, out in aliases)}
        self._launches: list[tuple[str, Cubin, LaunchExtents, tuple[int, ...]]] = []

    def launch(self, name: str, cubin: Cubin, extents: LaunchExtents, parameters: Sequence[int]) -> None:
        """Add the launch of a kernel."""
        self._launches.append((name, cubin, extents, tuple(parameters)))

    def finish(self, sizes: Sequence[int], loop: bool) -> Program:
        """Load the kernels, and return the program, as `program` does."""
        # A loop launches for one element of a batch at a time.
        passed = tuple(self._passed(i, () if loop else sizes) for i in range(len(self._buffers)))
        launches: list[CudaLaunch] = []
        for number, (name, cubin, extents, parameters) in enumerate(self._launches):
            handle = self._driver.load(
                cubin, extents.shared, self._passed_by(parameters, passed, number == 0)
            )
            if extents.cooperative:
                threads = math.prod(extents.block)
                most = self._driver.max_cooperative_grid_blocks(cubin, threads, extents.shared)
                extents = extents.resident(name, most)
            sizes_of_launch = extents.grid, extents.block, extents.shared
            launches.append(CudaLaunch(name, handle, *sizes_of_launch, parameters, extents.cooperative))
        return self.program(launches, sizes, loop)

    def _passed(self, i: int, sizes: Sequence[int]) -> PassedBuffer:
        """Return a buffer as launches get it: all elements of a batch, or one for no `sizes`."""
        spec, is_input = self._buffers[i], i < self._num_inputs
        shape = (*spec.batch_shape(sizes), *spec.shape) if sizes else spec.shape
        dtype = np.dtype(spec.dtype)
        return PassedBuffer(
            spec.name,
            shape,
            str(dtype),
            dtype.itemsize * math.prod(shape),
            is_read_only=is_input and i not in self._updated,
            is_written=is_input or i in self._updated,
        )

    def _passed_by(
        self, parameters: Sequence[int], buffers: tuple[PassedBuffer, ...], is_first: bool
    ) -> Passed:
        """Return the sizes, buffers and pointers that the parameters of these numbers pass to a kernel."""
        pointers = (
            PassedPointer(position, offset, displacement, buffer)
            for position, number in enumerate(parameters)
            for buffer, offset, displacement in self._pointers[number]
        )
        sizes = tuple(len(self._structs[i]) for i in parameters)
        return Passed(sizes, buffers, tuple(pointers), is_first)


def ensure_program_target(name: str, driver: Driver, build: Callable[[], Program]) -> str:
    """Return the target `name`, which runs a program; build and register it if it is new."""
    return ensure_target(
        name,
        lambda: ((code := emit_handler(name, build(), driver.functions())).address, code),
        platform=REGISTERED_AS[driver.platform],
    ).name

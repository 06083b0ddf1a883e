"""Emit the XLA FFI handler of a compiled Numba CPU kernel.

The handler is one C function in the kernel's own LLVM module: it checks the call frame, builds Numba
array structs over XLA's buffers, and calls the kernel (which LLVM may inline), once, or in a loop over
batch axes. The GIL is taken only to describe an exception that the kernel raised.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types

from ffi_bridge.abi import DTYPES
from ffi_bridge.handler.c_code import call_c, count_to
from ffi_bridge.handler.frame import I64, NULL, Buffer, Frame, begin_handler
from ffi_bridge.handler.interruption import return_if_interrupted
from ffi_bridge.handler.outputs import Canaries, prefer_huge_pages
from ffi_bridge.numba_cpu.exception import count_recorded, describe_exception, describe_recorded
from ffi_bridge.numba_cpu.internals import (
    GET_NUM_THREADS,
    SET_NUM_THREADS,
    CompileResult,
    Signature,
    array_value,
    as_dtype,
)
from ffi_bridge.numba_cpu.isolation import Watched
from ffi_bridge.numba_cpu.layout import Layout, Threading
from ffi_bridge.numba_cpu.parallel_region import arrive


def emit_handler(compiled: CompileResult, name: str, layout: Layout, threading: Threading | None) -> int:
    """Add the handler `name` to the kernel's library, finish it, and return its address."""
    library, context = compiled.library, compiled.target_context
    module = library.create_ir_module(name)
    frame = begin_handler(module, name)
    builder = frame.builder
    return_if_interrupted(frame)
    signature: Signature = compiled.signature
    buffers = _checked_buffers(frame, signature, layout)
    sizes = [_size(builder, array, x.dims) for array, x in zip(signature.args, buffers, strict=True)]
    for buffer, size in list(zip(buffers, sizes, strict=True))[layout.num_inputs :]:
        prefer_huge_pages(builder, buffer.data, size)
    canaries = Canaries(frame, layout.kernel)
    if layout.guarded:
        data = canaries.around_outputs(layout.names, [x.data for x in buffers], sizes, layout.num_inputs)
        buffers = [replace(buffer, data=place) for buffer, place in zip(buffers, data, strict=True)]
    if threading is None:
        _call_over_batch(frame, context, compiled.fndesc, signature, layout, buffers)
        canaries.check()
        frame.leave()
    else:
        watched = _watched(builder, signature, layout, buffers, sizes) if layout.guarded else None
        _enter(frame, threading, NULL if watched is None else watched.table)
        before = count_recorded(builder, threading.slot)
        _call_over_batch(frame, context, compiled.fndesc, signature, layout, buffers)
        canaries.check()
        if watched is not None:
            watched.check(frame, layout.kernel)
        frame.leave()
        after = count_recorded(builder, threading.slot)
        with builder.if_then(builder.icmp_unsigned("!=", before, after), likely=False):
            builder.ret(describe_recorded(frame, context, threading.slot))
    builder.ret(NULL)
    library.add_ir_module(module)
    library.finalize()
    address: int = library.get_pointer_to_function(name)
    return address


def _checked_buffers(frame: Frame, signature: Signature, layout: Layout) -> list[Buffer]:
    """Emit checks of every buffer's rank, dtype and batch extents; return the buffers, inputs first."""
    count = layout.num_inputs
    pointers = frame.buffers("args", count) + frame.buffers("rets", len(layout.names) - count)
    buffers = [
        frame.buffer(pointer, array.ndim + sum(batched), DTYPES[np.dtype(as_dtype(array.dtype))], name)
        for pointer, array, batched, name in zip(
            pointers, signature.args, layout.batched, layout.names, strict=True
        )
    ]
    sizes = buffers[-1].dims[: layout.levels]
    for buffer, batched, name in zip(buffers, layout.batched, layout.names, strict=True):
        own = (size for size, has_axis in zip(sizes, batched, strict=True) if has_axis)
        for found, expected in zip(buffer.dims, own, strict=False):
            frame.require("==", found, expected, f"expected the outputs' batch size for '{name}'")
    return buffers


def _size(builder: Any, array: types.Array, shape: tuple[Any, ...]) -> Any:
    """Emit the bytes that an array of this shape takes."""
    size: Any = ir.Constant(I64, as_dtype(array.dtype).itemsize)
    for extent in shape:
        size = builder.mul(size, extent)
    return size


def _watched(
    builder: Any, signature: Signature, layout: Layout, buffers: Sequence[Buffer], sizes: Sequence[Any]
) -> Watched:
    """Emit the table of outputs in which the shares of parallel regions are isolated."""
    found = list(zip(layout.names, signature.args, buffers, sizes, strict=True))[layout.num_inputs :]
    places = [(buffer.data, size, as_dtype(array.dtype).itemsize) for _, array, buffer, size in found]
    return Watched.of(builder, [name for name, *_ in found], places)


def _enter(frame: Frame, threading: Threading, watched: Any) -> None:
    """Let parallel regions find the frame, and set the thread count; `frame.leave` undoes both."""
    undo = [frame.leave, arrive(frame, watched)]
    if threading.num_threads is not None:
        undo.append(_mask_threads(frame.builder, threading.num_threads))

    def leave() -> None:
        for step in reversed(undo):
            step()

    frame.leave = leave


def _mask_threads(builder: Any, count: int) -> Callable[[], object]:
    # Numba's count is thread-local, and XLA may run the handler on the caller's own thread: put it
    # back after the kernel.
    before = call_c(builder, GET_NUM_THREADS, I64, [])
    call_c(builder, SET_NUM_THREADS, ir.VoidType(), [ir.Constant(I64, count)])
    return lambda: call_c(builder, SET_NUM_THREADS, ir.VoidType(), [before])


def _call_over_batch(
    frame: Frame,
    context: Any,
    descriptor: Any,
    signature: Signature,
    layout: Layout,
    buffers: list[Buffer],
) -> None:
    """Call the kernel once for every element of the batch levels, as nested loops."""
    builder = frame.builder
    data = [buffer.data for buffer in buffers]
    with ExitStack() as loops:
        for level in range(layout.levels):
            index = loops.enter_context(count_to(builder, buffers[-1].dims[level]))
            data = [
                _advance(builder, pointer, index, signature.args[i], buffers[i], layout, i, level)
                for i, pointer in enumerate(data)
            ]
        arrays = [
            _array(context, builder, array, pointer, buffer.dims[len(buffer.dims) - array.ndim :])
            for array, pointer, buffer in zip(signature.args, data, buffers, strict=True)
        ]
        function = context.declare_function(builder.module, descriptor)
        status, _ = context.call_conv.call_function(
            builder, function, signature.return_type, signature.args, arrays
        )
        with builder.if_then(status.is_error, likely=False):
            frame.leave()
            builder.ret(describe_exception(frame, context, status, layout.kernel))


def _advance(
    builder: Any,
    pointer: Any,
    index: Any,
    array: types.Array,
    buffer: Buffer,
    layout: Layout,
    argument: int,
    level: int,
) -> Any:
    """Emit the address of element `index` along a batch level; `pointer` where there is no such axis."""
    batched = layout.batched[argument]
    if not batched[level]:
        return pointer
    axis = sum(batched[:level])
    stride = _size(builder, array, buffer.dims[axis + 1 :])
    return builder.gep(pointer, [builder.mul(index, stride)])


def _array(context: Any, builder: Any, array: types.Array, data: Any, shape: tuple[Any, ...]) -> Any:
    """Emit Numba's struct of a C-contiguous array over `data`."""
    strides: list[Any] = []
    stride: Any = ir.Constant(I64, as_dtype(array.dtype).itemsize)
    for extent in reversed(shape):
        strides.insert(0, stride)
        stride = builder.mul(stride, extent)
    return array_value(builder, context, array, data, shape, strides)

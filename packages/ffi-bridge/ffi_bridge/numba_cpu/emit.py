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

from ffi_bridge.abi import DTYPES, HALF_DTYPES
from ffi_bridge.handler.c_code import call_c, count_to
from ffi_bridge.handler.frame import I64, NULL, POINTER, Buffer, Frame, begin_handler
from ffi_bridge.handler.guards import Canaries, InputCopies, prefer_huge_pages
from ffi_bridge.handler.interruption import return_if_interrupted
from ffi_bridge.numba_cpu.exception import count_recorded, describe_exception, describe_recorded
from ffi_bridge.numba_cpu.internals import (
    GET_CHUNK_SIZE,
    GET_NUM_THREADS,
    SET_CHUNK_SIZE,
    SET_NUM_THREADS,
    CompileResult,
    Signature,
    array_value,
    as_dtype,
)
from ffi_bridge.numba_cpu.isolation import Watched
from ffi_bridge.numba_cpu.layout import Layout, Threading, buffer_types
from ffi_bridge.numba_cpu.parallel_region import arrive


def emit_handler(compiled: CompileResult, name: str, layout: Layout, threading: Threading | None) -> int:
    """Add the handler `name` to the kernel's library, finish it, and return its address."""
    library, context = compiled.library, compiled.target_context
    module = library.create_ir_module(name)
    frame = begin_handler(module, name)
    builder = frame.builder
    return_if_interrupted(frame)
    signature: Signature = compiled.signature
    kinds = buffer_types(signature.args)
    buffers = _checked_buffers(frame, kinds, layout)
    sizes = [_size(builder, kind, x.dims) for kind, x in zip(kinds, buffers, strict=True)]
    for buffer, size in list(zip(buffers, sizes, strict=True))[layout.num_inputs :]:
        prefer_huge_pages(builder, buffer.data, size)
    copies = InputCopies(frame, layout.kernel)
    if layout.guarded:
        read = zip(layout.names, buffers, sizes, strict=True)
        copies.keep((name, buffer.data, size) for name, buffer, size in read if name in layout.read)
    canaries = Canaries(frame, layout.kernel)
    if layout.guarded:
        data = canaries.around_outputs(layout.names, [x.data for x in buffers], sizes, layout.num_inputs)
        buffers = [replace(buffer, data=place) for buffer, place in zip(buffers, data, strict=True)]
    if threading is None:
        _call_over_batch(frame, context, compiled.fndesc, signature, layout, buffers, copies)
        canaries.check()
        copies.check()
        frame.leave()
    else:
        watched = _watched(builder, kinds, layout, buffers, sizes) if layout.guarded else None
        _enter(frame, threading, NULL if watched is None else watched.table)
        before = count_recorded(builder, threading.slot)
        _call_over_batch(frame, context, compiled.fndesc, signature, layout, buffers, copies)
        canaries.check()
        copies.check()
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


def _checked_buffers(frame: Frame, kinds: Sequence[types.Type], layout: Layout) -> list[Buffer]:
    """Emit checks of every buffer's rank, dtype and batch extents; return the buffers, inputs first."""
    known, counts = DTYPES | HALF_DTYPES, (layout.num_inputs, len(layout.names) - layout.num_inputs)
    tokens = int(layout.ordered)
    operands, results = (
        frame.buffers(side, count + tokens)[:count]
        for side, count in zip(("args", "rets"), counts, strict=True)
    )
    buffers = [
        frame.buffer(pointer, _ndim(kind) + sum(batched), known[_dtype(kind)], name)
        for pointer, kind, batched, name in zip(
            operands + results, kinds, layout.batched, layout.names, strict=True
        )
    ]
    sizes = buffers[-1].dims[: layout.levels]
    for buffer, batched, name in zip(buffers, layout.batched, layout.names, strict=True):
        own = (size for size, has_axis in zip(sizes, batched, strict=True) if has_axis)
        for found, expected in zip(buffer.dims, own, strict=False):
            frame.require("==", found, expected, f"expected the outputs' batch size for '{name}'")
    return buffers


def _dtype(kind: Any) -> np.dtype[Any]:
    """Return the dtype of a buffer, from which an array or a number is made."""
    return np.dtype(as_dtype(kind.dtype if isinstance(kind, types.Array) else kind))


def _ndim(kind: Any) -> int:
    return kind.ndim if isinstance(kind, types.Array) else 0


def _size(builder: Any, kind: types.Type, shape: tuple[Any, ...]) -> Any:
    """Emit the bytes that a buffer of this shape takes."""
    size: Any = ir.Constant(I64, _dtype(kind).itemsize)
    for extent in shape:
        size = builder.mul(size, extent)
    return size


def _watched(
    builder: Any, kinds: Sequence[types.Type], layout: Layout, buffers: Sequence[Buffer], sizes: Sequence[Any]
) -> Watched:
    """Emit the table of outputs in which the shares of parallel regions are isolated."""
    found = list(zip(layout.names, kinds, buffers, sizes, strict=True))[layout.num_inputs :]
    places = [(buffer.data, size, _dtype(kind).itemsize) for _, kind, buffer, size in found]
    return Watched.of(builder, [name for name, *_ in found], places)


def _enter(frame: Frame, threading: Threading, watched: Any) -> None:
    """Let parallel regions find the frame, and set the thread count; `frame.leave` undoes both.

    Numba's thread count and the size of its chunks are thread-local, and XLA may run the handler on the
    caller's own thread: they are put back after the kernel, which may change them.
    """
    builder = frame.builder
    undo = [frame.leave, arrive(frame, watched), _kept(builder, GET_CHUNK_SIZE, SET_CHUNK_SIZE)]
    if threading.num_threads is not None:
        undo.append(_kept(builder, GET_NUM_THREADS, SET_NUM_THREADS))
        call_c(builder, SET_NUM_THREADS, ir.VoidType(), [ir.Constant(I64, threading.num_threads)])

    def leave() -> None:
        for step in reversed(undo):
            step()

    frame.leave = leave


def _kept(builder: Any, get: str, put: str) -> Callable[[], object]:
    """Emit a read of a number of Numba's thread pool; return a function that emits its return."""
    before = call_c(builder, get, I64, [])
    return lambda: call_c(builder, put, ir.VoidType(), [before])


def _call_over_batch(
    frame: Frame,
    context: Any,
    descriptor: Any,
    signature: Signature,
    layout: Layout,
    buffers: list[Buffer],
    copies: InputCopies,
) -> None:
    """Call the kernel once for every element of the batch levels, as nested loops.

    What it may write to is copied for each call, since it must find an input of all elements as it was.
    """
    builder, kinds = frame.builder, buffer_types(signature.args)
    data = [buffer.data for buffer in buffers]
    rooms: dict[int, tuple[Any, Any]] = {}
    for i in map(layout.names.index, layout.copied):
        size = _size(builder, kinds[i], buffers[i].dims[len(buffers[i].dims) - _ndim(kinds[i]) :])
        rooms[i] = copies.room(layout.names[i], size), size
    with ExitStack() as loops:
        for level in range(layout.levels):
            index = loops.enter_context(count_to(builder, buffers[-1].dims[level]))
            data = [
                _advance(builder, pointer, index, kinds[i], buffers[i], layout, i, level)
                for i, pointer in enumerate(data)
            ]
        for i, (room, size) in rooms.items():
            call_c(builder, "memcpy", POINTER, [room, data[i], size])
            data[i] = room
        values = iter(
            _value(context, builder, kind, pointer, buffer.dims[len(buffer.dims) - _ndim(kind) :])
            for kind, pointer, buffer in zip(kinds, data, buffers, strict=True)
        )
        # What is left out of a call has no value: the kernel has its constant.
        given = [None if isinstance(kind, types.Omitted) else next(values) for kind in signature.args]
        function = context.declare_function(builder.module, descriptor)
        status, _ = context.call_conv.call_function(
            builder, function, signature.return_type, signature.args, given
        )
        with builder.if_then(status.is_error, likely=False):
            frame.leave()
            builder.ret(describe_exception(frame, context, status, layout.kernel))


def _advance(
    builder: Any,
    pointer: Any,
    index: Any,
    kind: types.Type,
    buffer: Buffer,
    layout: Layout,
    argument: int,
    level: int,
) -> Any:
    """Emit the address of element `index` along a batch level; `pointer` where the axis is missing."""
    batched = layout.batched[argument]
    if not batched[level]:
        return pointer
    axis = sum(batched[:level])
    stride = _size(builder, kind, buffer.dims[axis + 1 :])
    return builder.gep(pointer, [builder.mul(index, stride)])


def _value(context: Any, builder: Any, kind: types.Type, data: Any, shape: tuple[Any, ...]) -> Any:
    """Emit Numba's struct of a C-contiguous array over `data`, or the number that is there."""
    if not isinstance(kind, types.Array):
        place = builder.bitcast(data, context.get_data_type(kind).as_pointer())
        return context.unpack_value(builder, kind, place)
    strides: list[Any] = []
    stride: Any = ir.Constant(I64, _dtype(kind).itemsize)
    for extent in reversed(shape):
        strides.insert(0, stride)
        stride = builder.mul(stride, extent)
    return array_value(builder, context, kind, data, shape, strides)

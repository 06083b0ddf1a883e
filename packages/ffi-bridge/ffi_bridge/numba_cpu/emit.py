"""Emit the XLA FFI handler of a compiled Numba CPU kernel.

The handler is one C function in the kernel's own LLVM module: it checks the call frame, builds Numba
array structs over XLA's buffers, and calls the kernel (which LLVM may inline), once, or in a loop over
batch axes. The GIL is taken only to describe an exception that the kernel raised.
"""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
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
    array_value,
    as_dtype,
)
from ffi_bridge.numba_cpu.isolation import Watched
from ffi_bridge.numba_cpu.layout import Layout, Threading, buffer_types
from ffi_bridge.numba_cpu.parallel_region import arrive


@dataclass(frozen=True)
class _Argument:
    """A parameter of the kernel, and its buffer; `batched`: for which batch levels that has an axis."""

    name: str
    kind: Any  # of an array, or of the number that is read from it
    batched: tuple[bool, ...]
    buffer: Buffer

    @property
    def ndim(self) -> int:
        return self.kind.ndim if isinstance(self.kind, types.Array) else 0

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(as_dtype(self.kind.dtype if isinstance(self.kind, types.Array) else self.kind))

    def size(self, builder: Any, outer: int = 0) -> Any:
        """Emit the bytes of the elements for one index of each of the `outer` outermost axes."""
        size: Any = ir.Constant(I64, self.dtype.itemsize)
        for extent in self.buffer.dims[outer:]:
            size = builder.mul(size, extent)
        return size

    def advance(self, builder: Any, pointer: Any, index: Any, level: int) -> Any:
        """Emit the address of element `index` along a batch level; `pointer` where the axis is missing."""
        if not self.batched[level]:
            return pointer
        stride = self.size(builder, sum(self.batched[: level + 1]))
        return builder.gep(pointer, [builder.mul(index, stride)])

    def value(self, context: Any, builder: Any, data: Any) -> Any:
        """Emit Numba's struct of a C-contiguous array over `data`, or the number that is there."""
        if not isinstance(self.kind, types.Array):
            place = builder.bitcast(data, context.get_data_type(self.kind).as_pointer())
            return context.unpack_value(builder, self.kind, place)
        outer = sum(self.batched)
        strides = [self.size(builder, outer + axis + 1) for axis in range(self.ndim)]
        return array_value(builder, context, self.kind, data, self.buffer.dims[outer:], strides)


def emit_handler(compiled: CompileResult, name: str, layout: Layout, threading: Threading | None) -> None:
    """Add the handler `name` to the kernel's library, and finish it."""
    library, context = compiled.library, compiled.target_context
    module = library.create_ir_module(name)
    frame = begin_handler(module, name)
    builder = frame.builder
    return_if_interrupted(frame)
    arguments = _checked_arguments(frame, buffer_types(compiled.signature.args), layout)
    sizes = [x.size(builder) for x in arguments]
    outputs = slice(layout.num_inputs, None)
    for argument, size in zip(arguments[outputs], sizes[outputs], strict=True):
        # Before anything is written: pages that exist already stay small.
        prefer_huge_pages(builder, argument.buffer.data, size)
    copies, canaries, watched = InputCopies(frame, layout.kernel), Canaries(frame, layout.kernel), None
    if layout.guarded:
        read = zip(arguments, sizes, strict=True)
        copies.keep((x.name, x.buffer.data, size) for x, size in read if x.name in layout.read)
        addresses = [x.buffer.data for x in arguments]
        moved = canaries.around_outputs(layout.names, addresses, sizes, layout.num_inputs)
        arguments = [
            replace(x, buffer=replace(x.buffer, data=place))
            for x, place in zip(arguments, moved, strict=True)
        ]
    if threading is not None:
        if layout.guarded:
            of_outputs = zip(arguments[outputs], sizes[outputs], strict=True)
            places = [(x.buffer.data, size, x.dtype.itemsize) for x, size in of_outputs]
            watched = Watched.of(builder, layout.names[outputs], places)
        _enter(frame, threading, NULL if watched is None else watched.table)
    # The count only grows: more afterwards means that a share of this call, or of one beside it, raised.
    before = None if threading is None else count_recorded(builder, threading.slot)
    _call_over_batch(frame, compiled, layout, arguments, copies)
    canaries.check()
    copies.check()
    if watched is not None:
        watched.check(frame, layout.kernel)
    frame.leave()
    if threading is not None:
        after = count_recorded(builder, threading.slot)
        with builder.if_then(builder.icmp_unsigned("!=", before, after), likely=False):
            builder.ret(describe_recorded(frame, context, threading.slot))
    builder.ret(NULL)
    # Into the kernel's own library, where LLVM may inline the kernel.
    library.add_ir_module(module)
    library.is_whole = True
    library.finalize()


def _checked_arguments(frame: Frame, kinds: Sequence[types.Type], layout: Layout) -> list[_Argument]:
    """Emit checks of every buffer's rank, dtype and batch extents; return the arguments, inputs first."""
    codes, tokens = DTYPES | HALF_DTYPES, int(layout.ordered)
    inputs, outputs = layout.num_inputs, len(layout.names) - layout.num_inputs
    pointers = frame.buffers("args", inputs + tokens)[:inputs]
    pointers += frame.buffers("rets", outputs + tokens)[:outputs]
    arguments = list[_Argument]()
    for pointer, name, kind, batched in zip(pointers, layout.names, kinds, layout.batched, strict=True):
        bare = _Argument(name, kind, batched, Buffer(None, ()))
        rank = bare.ndim + sum(bare.batched)
        arguments.append(replace(bare, buffer=frame.buffer(pointer, rank, codes[bare.dtype], name)))
    # The last one is an output, which has an axis for every level.
    sizes = arguments[-1].buffer.dims[: layout.levels]
    for x in arguments:
        extents = (size for size, has_axis in zip(sizes, x.batched, strict=True) if has_axis)
        for actual, expected in zip(x.buffer.dims, extents, strict=False):
            frame.require(actual, expected, f"expected the outputs' batch size for '{x.name}'")
    return arguments


def _enter(frame: Frame, threading: Threading, watched: Any) -> None:
    """Let parallel regions find the frame, and set the thread count; `frame.leave` undoes both.

    Numba's thread count and the size of its chunks are thread-local, and XLA may run the handler on the
    caller's own thread: they are put back after the kernel, which may change them.
    """
    builder = frame.builder
    undo = [frame.leave, arrive(frame, watched), _restored(builder, GET_CHUNK_SIZE, SET_CHUNK_SIZE)]
    if threading.num_threads is not None:
        undo.append(_restored(builder, GET_NUM_THREADS, SET_NUM_THREADS))
        call_c(builder, SET_NUM_THREADS, ir.VoidType(), [ir.Constant(I64, threading.num_threads)])

    def leave() -> None:
        for step in reversed(undo):
            step()

    frame.leave = leave


def _restored(builder: Any, get: str, put: str) -> Callable[[], object]:
    """Emit a read of a number of Numba's thread pool; return a function that emits its return."""
    before = call_c(builder, get, I64, [])
    return lambda: call_c(builder, put, ir.VoidType(), [before])


def _call_over_batch(
    frame: Frame, compiled: CompileResult, layout: Layout, arguments: Sequence[_Argument], copies: InputCopies
) -> None:
    """Call the kernel once for every element of the batch levels, as nested loops.

    What it may write to is copied for each call, since it must find an input of all elements as it was.
    """
    builder, context, signature = frame.builder, compiled.target_context, compiled.signature
    data = [x.buffer.data for x in arguments]
    rooms: dict[int, tuple[Any, Any]] = {}
    for i in map(layout.names.index, layout.copied):
        size = arguments[i].size(builder, sum(arguments[i].batched))
        # One room for all elements of a batch, filled anew for each.
        rooms[i] = copies.room(layout.names[i], size), size
    with ExitStack() as loops:
        for level in range(layout.levels):
            index = loops.enter_context(count_to(builder, arguments[-1].buffer.dims[level]))
            data = [x.advance(builder, place, index, level) for x, place in zip(arguments, data, strict=True)]
        for i, (room, size) in rooms.items():
            call_c(builder, "memcpy", POINTER, [room, data[i], size])
            data[i] = room
        values = iter([x.value(context, builder, place) for x, place in zip(arguments, data, strict=True)])
        # What is left out of a call has no value: the kernel has its constant.
        passed = [None if isinstance(kind, types.Omitted) else next(values) for kind in signature.args]
        function = context.declare_function(builder.module, compiled.fndesc)
        status, _ = context.call_conv.call_function(
            builder, function, signature.return_type, signature.args, passed
        )
        with builder.if_then(status.is_error, likely=False):
            frame.leave()
            builder.ret(describe_exception(frame, context, status, layout.kernel))

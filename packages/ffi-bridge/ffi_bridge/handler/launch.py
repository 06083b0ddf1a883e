"""Emit the arguments of kernels that take C structs: Warp's and CUDA's.

JAX knows every shape when it traces, so the structs are constant but for addresses: a handler copies them to
its stack and writes the addresses of XLA's buffers into the copies.
"""

from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from llvmlite import ir

from ffi_bridge.handler.c_code import count_to
from ffi_bridge.handler.frame import I8, I64, POINTER, Frame

# Where the address of a buffer goes: (struct, byte offset in it, bytes that are added to the address).
Slot = tuple[int, int, int]


@dataclass(frozen=True)
class LaunchBuffer:
    """One operand or result.

    `shape` has the batch axes too, `dtype` is XLA's name and code, `size` is in bytes, `slots` are those of
    every pointer to the buffer, and `strides` are the bytes from one element of each batch level to the next,
    0 where all share one.
    """

    name: str
    shape: tuple[int, ...]
    dtype: tuple[str, int]
    size: int
    slots: tuple[Slot, ...]
    strides: tuple[int, ...]


@dataclass(frozen=True)
class Program:
    """Launches in order, the constant structs that they take, and the buffers that these point to.

    The first `num_inputs` buffers are operands, the rest results; `batch`: extents of the levels of a batch,
    for each element of which all is launched.
    """

    launches: tuple[Any, ...]
    structs: tuple[bytes, ...]
    num_inputs: int
    buffers: tuple[LaunchBuffer, ...]
    batch: tuple[int, ...]

    def addresses(self, frame: Frame) -> list[Any]:
        """Return the addresses of all buffers, inputs first, after a check of their dtypes and shapes."""
        outs = len(self.buffers) - self.num_inputs
        pointers = frame.buffers("args", self.num_inputs) + frame.buffers("rets", outs)
        data: list[Any] = []
        for pointer, expected in zip(pointers, self.buffers, strict=True):
            actual = frame.buffer(pointer, len(expected.shape), expected.dtype, expected.name)
            for dim, size in zip(actual.dims, expected.shape, strict=True):
                frame.require(dim, size, f"expected shape {expected.shape} for '{expected.name}'")
            data.append(actual.data)
        return data

    @contextmanager
    def over_batch(self, builder: Any, data: Sequence[Any]) -> Generator[list[Any]]:
        """Emit the block in loops over the batch levels; yield the structs' addresses, for one element."""
        structs = [_copied(builder, content) for content in self.structs]
        with ExitStack() as loops:
            for level, size in enumerate(self.batch):
                index = loops.enter_context(count_to(builder, ir.Constant(I64, size)))
                strides = [buffer.strides[level] for buffer in self.buffers]
                data = [
                    builder.gep(pointer, [builder.mul(index, ir.Constant(I64, stride))])
                    if stride
                    else pointer
                    for pointer, stride in zip(data, strides, strict=True)
                ]
            for pointer, buffer in zip(data, self.buffers, strict=True):
                for struct, offset, displacement in buffer.slots:
                    slot = builder.gep(structs[struct], [ir.Constant(I64, offset)])
                    address = (
                        builder.gep(pointer, [ir.Constant(I64, displacement)]) if displacement else pointer
                    )
                    builder.store(address, builder.bitcast(slot, POINTER.as_pointer()))
            yield structs


def _copied(builder: Any, content: bytes) -> Any:
    """Return a copy of a constant struct on the stack."""
    kind = ir.ArrayType(I8, len(content))
    with builder.goto_entry_block():
        storage = builder.alloca(kind)
        # The widest alignment of a C type; bytes alone would have 1.
        storage.align = 16
    builder.store(ir.Constant(kind, bytearray(content)), storage)
    return builder.bitcast(storage, POINTER)

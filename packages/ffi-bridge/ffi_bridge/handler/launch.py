"""Emit the arguments of kernels that take C structs: Warp's and CUDA's.

JAX knows every shape when it traces, so the structs are constant but for addresses: a handler copies them to
its stack and writes the addresses of XLA's buffers into the copies.
"""

from __future__ import annotations

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


def checked_addresses(frame: Frame, buffers: Sequence[LaunchBuffer], num_inputs: int) -> list[Any]:
    """Return the addresses of all buffers, inputs first, after a check of their dtypes and shapes."""
    pointers = frame.buffers("args", num_inputs) + frame.buffers("rets", len(buffers) - num_inputs)
    data: list[Any] = []
    for pointer, expected in zip(pointers, buffers, strict=True):
        found = frame.buffer(pointer, len(expected.shape), expected.dtype, expected.name)
        for dim, size in zip(found.dims, expected.shape, strict=True):
            frame.require("==", dim, size, f"expected shape {expected.shape} for '{expected.name}'")
        data.append(found.data)
    return data


def copied(builder: Any, content: bytes) -> Any:
    """Return a copy of a constant struct on the stack."""
    kind = ir.ArrayType(I8, len(content))
    with builder.goto_entry_block():
        storage = builder.alloca(kind)
        storage.align = 16
    builder.store(ir.Constant(kind, bytearray(content)), storage)
    return builder.bitcast(storage, POINTER)


@contextmanager
def over_batch(
    builder: Any, sizes: Sequence[int], buffers: Sequence[LaunchBuffer], data: Sequence[Any]
) -> Generator[list[Any]]:
    """Emit the block in loops over the batch levels; yield the addresses for one element of the batch."""
    with ExitStack() as loops:
        for level, size in enumerate(sizes):
            index = loops.enter_context(count_to(builder, ir.Constant(I64, size)))
            data = [
                _advanced(builder, pointer, index, buffer.strides[level])
                for pointer, buffer in zip(data, buffers, strict=True)
            ]
        yield list(data)


def write_addresses(
    builder: Any, structs: Sequence[Any], buffers: Sequence[LaunchBuffer], data: Sequence[Any]
) -> None:
    """Write the address of every buffer into its slots."""
    for pointer, buffer in zip(data, buffers, strict=True):
        for struct, offset, displacement in buffer.slots:
            slot = builder.gep(structs[struct], [ir.Constant(I64, offset)])
            address = builder.gep(pointer, [ir.Constant(I64, displacement)]) if displacement else pointer
            builder.store(address, builder.bitcast(slot, POINTER.as_pointer()))


def _advanced(builder: Any, pointer: Any, index: Any, stride: int) -> Any:
    return builder.gep(pointer, [builder.mul(index, ir.Constant(I64, stride))]) if stride else pointer

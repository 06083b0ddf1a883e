"""The buffers of one call: as JAX knows them, as a handler sees them, and one element of a batch."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ffi_bridge.abi import DTYPES, HALF_DTYPES
from ffi_bridge.handler.launch import LaunchBuffer, Program, Slot
from ffi_bridge.native.call import NativeCall
from ffi_bridge.targets import FrameReader


def contiguous(shape: Sequence[int], itemsize: int) -> tuple[int, ...]:
    """Return the strides of a C-contiguous array, in bytes."""
    strides: list[int] = []
    for extent in reversed(shape):
        strides.insert(0, itemsize)
        itemsize *= extent
    return tuple(strides)


@dataclass(frozen=True)
class BufferSpec:
    """One buffer of a call: shape without batch axes, and which batch levels it has an axis for."""

    name: str
    dtype: Any
    shape: tuple[int, ...]
    batched: tuple[bool, ...]

    def batch_shape(self, sizes: Sequence[int]) -> tuple[int, ...]:
        """Return the extents of the batch axes that the buffer has; `sizes`: of all levels."""
        return tuple(size for size, has in zip(sizes, self.batched, strict=True) if has)

    def batch_strides(self, sizes: Sequence[int]) -> tuple[int, ...]:
        """Return the bytes from one element to the next along each batch axis that the buffer has."""
        axes = self.batch_shape(sizes)
        return contiguous((*axes, *self.shape), np.dtype(self.dtype).itemsize)[: len(axes)]

    def with_slots(self, slots: Sequence[Slot], sizes: Sequence[int]) -> LaunchBuffer:
        """Return the buffer as a handler sees it: with batch axes, and pointers to it in `slots`."""
        dtype = np.dtype(self.dtype)
        shape = (*self.batch_shape(sizes), *self.shape)
        of_axis = iter(self.batch_strides(sizes))
        strides = tuple(next(of_axis) if has else 0 for has in self.batched)
        size = dtype.itemsize * math.prod(shape)
        return LaunchBuffer(self.name, shape, (DTYPES | HALF_DTYPES)[dtype], size, tuple(slots), strides)


def buffers_of(ins: Sequence[Any], call: NativeCall, names: Sequence[str]) -> list[BufferSpec]:
    """Return the buffers of a call, inputs first."""
    batched = call.batched(len(ins))
    # `batched` goes on behind the inputs, with the outputs.
    specs = [(x.dtype, x.shape[sum(axes) :]) for x, axes in zip(ins, batched, strict=False)]
    specs += [(out.dtype, tuple(out.shape)) for out in call.outs]
    return [
        BufferSpec(name, dtype, tuple(shape), axes)
        for name, (dtype, shape), axes in zip(names, specs, batched, strict=True)
    ]


# A buffer, where its address goes in a struct, and bytes that are added to it.
Pointer = tuple[int, int, int]


class ProgramBuilder:
    """A program in the making: the constant structs that launches take, and the pointers in them."""

    def __init__(self, buffers: Sequence[BufferSpec], num_inputs: int) -> None:
        self._buffers, self._num_inputs = buffers, num_inputs
        self._structs: list[bytes] = []
        self._pointers: list[Sequence[Pointer]] = []  # of each struct

    def struct(self, content: bytes, pointers: Sequence[Pointer] = ()) -> int:
        """Add a struct, in which every call writes the addresses of buffers, and return its number."""
        self._structs.append(content)
        self._pointers.append(pointers)
        return len(self._structs) - 1

    def program(self, launches: Sequence[Any], sizes: Sequence[int], loop: bool = True) -> Program:
        """Return the program; `sizes`: extents of the batch levels; `loop`: run it for each element."""
        slots: list[list[Slot]] = [[] for _ in self._buffers]
        for struct, pointers in enumerate(self._pointers):
            for buffer, offset, displacement in pointers:
                slots[buffer].append((struct, offset, displacement))
        buffers = (spec.with_slots(places, sizes) for spec, places in zip(self._buffers, slots, strict=True))
        batch = tuple(sizes) if loop else ()
        return Program(tuple(launches), tuple(self._structs), self._num_inputs, tuple(buffers), batch)


class ElementBuffer(NamedTuple):
    """The memory of one element of a batch in one buffer."""

    address: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]


def elements(
    frame: FrameReader, buffers: Sequence[BufferSpec], sizes: Sequence[int]
) -> Iterator[list[ElementBuffer]]:
    """Yield, for every element of a batch, its memory in each buffer."""
    addresses = frame.addresses()
    for element in np.ndindex(*sizes):
        yield [_place(*of_one, element, sizes) for of_one in zip(addresses, buffers, strict=True)]


def _place(address: int, spec: BufferSpec, element: tuple[int, ...], sizes: Sequence[int]) -> ElementBuffer:
    indices = (index for index, has in zip(element, spec.batched, strict=True) if has)
    offset = sum(index * stride for index, stride in zip(indices, spec.batch_strides(sizes), strict=True))
    return ElementBuffer(address + offset, spec.shape, np.dtype(spec.dtype))

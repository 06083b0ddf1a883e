"""Handlers that are Python functions: for what cannot be recorded, and for kernels in a debugger."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ffi_bridge.native.buffers import BufferSpec
from ffi_bridge.native.frame_reader import HANDLER, FrameReader


class ElementBuffer(NamedTuple):
    """Where the buffer of one element of a batch lies, and what it holds."""

    address: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]


def python_handler(work: Callable[[FrameReader], None], name: str) -> tuple[int, object]:
    """The address of a handler that does `work` at every execution, and what keeps it alive."""

    def handle(address: int) -> int | None:
        frame = FrameReader(address)
        if frame.answer_metadata() or not frame.is_execution:
            return None
        try:
            work(frame)
        except Exception as error:  # a callback of C cannot raise: XLA does, with this text
            return frame.error(f"{name} raised {type(error).__name__}: {error}")
        return None

    handler = HANDLER(handle)
    return ctypes.cast(handler, ctypes.c_void_p).value or 0, handler


def elements(
    frame: FrameReader, buffers: Sequence[BufferSpec], sizes: Sequence[int]
) -> Iterator[list[ElementBuffer]]:
    """Every element of a batch: the places of all buffers."""
    addresses = frame.addresses()
    for element in np.ndindex(*sizes):
        yield [_place(*of_one, element, sizes) for of_one in zip(addresses, buffers, strict=True)]


def _place(address: int, spec: BufferSpec, element: tuple[int, ...], sizes: Sequence[int]) -> ElementBuffer:
    own = (index for index, has in zip(element, spec.batched, strict=True) if has)
    offset = sum(index * stride for index, stride in zip(own, spec.batch_strides(sizes), strict=True))
    return ElementBuffer(address + offset, spec.shape, np.dtype(spec.dtype))

"""The buffers of Python functions that XLA calls: every element of a batch in its memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ffi_bridge.native.buffers import BufferSpec
from ffi_bridge.native.frame_reader import FrameReader


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
    own = (index for index, has in zip(element, spec.batched, strict=True) if has)
    offset = sum(index * stride for index, stride in zip(own, spec.batch_strides(sizes), strict=True))
    return ElementBuffer(address + offset, spec.shape, np.dtype(spec.dtype))

"""The module `cuda` of a kernel, in plain Python: indices, barriers, shared memory, atomics, warps."""

from __future__ import annotations

import math
import operator
import sys
from collections.abc import Callable, Iterable
from typing import Any, ClassVar

import numpy as np
from numba import types

from ffi_bridge.emulated.block import WARP, Dim3, current
from ffi_bridge.numba_cpu.internals import as_dtype

FULL = 0xFFFFFFFF
# Functions in which a thread waits for others.
MEETINGS = frozenset(
    {
        *("syncthreads", "syncthreads_count", "syncthreads_and", "syncthreads_or", "syncwarp"),
        *("shfl_sync", "shfl_up_sync", "shfl_down_sync", "shfl_xor_sync"),
        *("ballot_sync", "all_sync", "any_sync", "match_any_sync"),
    }
)


class Int32(np.int64):
    """An int32, such as the votes of a warp; as in Numba, arithmetic with it gives an int64."""


def _atomic(change: Callable[..., Any]) -> Any:
    """Return the method that sets an element to `change(old, *given)`, and returns the old value."""

    def update(self: _Atomic, array: Any, index: Any, *given: Any) -> Any:
        with current().block.lock:
            old = array[index]
            array[index] = change(old, *given)
            return old

    return update


class _Atomic:
    """`cuda.atomic`: each returns the old value; out-of-range indices raise, as in NumPy."""

    add, sub, max, min = map(_atomic, (operator.add, operator.sub, max, min))
    and_, or_, xor = map(_atomic, (operator.and_, operator.or_, operator.xor))
    exch = _atomic(lambda old, value: value)
    cas = _atomic(lambda found, old, value: value if found == old else found)


class _Shared:
    """`cuda.shared`: one array per block and line of code; shape 0 is the dynamic memory of a launch."""

    def array(self, shape: Any, dtype: Any) -> Any:
        thread = current()
        caller = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
        key = (caller.f_code, caller.f_lasti)
        with thread.block.lock:
            if key not in thread.block.arrays:
                kind = _dtype(dtype)
                size = thread.block.shared_bytes // kind.itemsize if shape == 0 else shape
                thread.block.arrays[key] = _undefined(size, kind)
            return thread.block.arrays[key]


class _Local:
    """`cuda.local`."""

    def array(self, shape: Any, dtype: Any) -> Any:
        return _undefined(shape, _dtype(dtype))


class _Constant:
    """`cuda.const`."""

    def array_like(self, array: Any) -> Any:
        return np.array(array)


class Device:
    """The module `cuda` within a kernel; a function that is missing here raises AttributeError."""

    warpsize: ClassVar[int] = WARP
    atomic: ClassVar[_Atomic] = _Atomic()
    shared: ClassVar[_Shared] = _Shared()
    local: ClassVar[_Local] = _Local()
    const: ClassVar[_Constant] = _Constant()

    @property
    def threadIdx(self) -> Dim3:
        return current().index

    @property
    def blockIdx(self) -> Dim3:
        return current().block.index

    @property
    def blockDim(self) -> Dim3:
        return current().block.extents

    @property
    def gridDim(self) -> Dim3:
        return current().block.grid

    @property
    def laneid(self) -> int:
        return current().lane

    def grid(self, rank: int) -> Any:
        at, sizes, within = self.blockIdx, self.blockDim, self.threadIdx
        whole = (at.x * sizes.x + within.x, at.y * sizes.y + within.y, at.z * sizes.z + within.z)
        return whole[0] if rank == 1 else whole[:rank]

    def gridsize(self, rank: int) -> Any:
        blocks, sizes = self.gridDim, self.blockDim
        whole = (blocks.x * sizes.x, blocks.y * sizes.y, blocks.z * sizes.z)
        return whole[0] if rank == 1 else whole[:rank]

    def syncthreads(self) -> None:
        current().meet_block()

    def syncthreads_count(self, value: Any) -> int:
        return sum(map(bool, current().meet_block(value).values()))

    def syncthreads_and(self, value: Any) -> int:
        return int(all(current().meet_block(value).values()))

    def syncthreads_or(self, value: Any) -> int:
        return int(any(current().meet_block(value).values()))

    def threadfence(self) -> None: ...

    def threadfence_block(self) -> None: ...

    def syncwarp(self, mask: int = FULL) -> None:
        current().meet_lanes(mask)

    def shfl_sync(self, mask: int, value: Any, source: int) -> Any:
        return self._from_lane(mask, value, source % WARP)

    def shfl_up_sync(self, mask: int, value: Any, delta: int) -> Any:
        return self._from_lane(mask, value, current().lane - delta)

    def shfl_down_sync(self, mask: int, value: Any, delta: int) -> Any:
        return self._from_lane(mask, value, current().lane + delta)

    def shfl_xor_sync(self, mask: int, value: Any, pattern: int) -> Any:
        return self._from_lane(mask, value, current().lane ^ pattern)

    def _from_lane(self, mask: int, value: Any, source: int) -> Any:
        """Return the value of another lane; the thread's own where there is no such lane."""
        return current().meet_lanes(mask, value).get(source, value)

    def ballot_sync(self, mask: int, predicate: Any) -> Int32:
        given = current().meet_lanes(mask, predicate)
        return _votes(lane for lane in given if given[lane])

    def all_sync(self, mask: int, predicate: Any) -> bool:
        return all(current().meet_lanes(mask, predicate).values())

    def any_sync(self, mask: int, predicate: Any) -> bool:
        return any(current().meet_lanes(mask, predicate).values())

    def match_any_sync(self, mask: int, value: Any) -> Int32:
        given = current().meet_lanes(mask, value)
        return _votes(lane for lane in given if given[lane] == value)

    def popc(self, bits: Any) -> int:
        return (int(bits) & (1 << _width(bits)) - 1).bit_count()

    def ffs(self, bits: Any) -> int:
        return (int(bits) & -int(bits)).bit_length()

    def clz(self, bits: Any) -> int:
        width = _width(bits)
        return width - (int(bits) & (1 << width) - 1).bit_length()

    def fma(self, a: Any, b: Any, c: Any) -> Any:
        return a * b + c

    def selp(self, condition: Any, a: Any, b: Any) -> Any:
        return a if condition else b


def _votes(lanes: Iterable[int]) -> Int32:
    """Return the int32 with these bits; the highest is its sign."""
    return Int32(np.uint32(sum(1 << lane for lane in lanes)).astype(np.int32))


def _width(number: Any) -> int:
    """Return the width in bits that a number has on a GPU."""
    return 8 * number.itemsize if isinstance(number, np.generic) and not isinstance(number, Int32) else 32


def _undefined(shape: Any, dtype: Any) -> Any:
    """Return an array for memory that nobody has written: NaN, or the largest integer."""
    array = np.empty(shape, dtype)
    array.fill(math.nan if dtype.kind in "fc" else (1 if dtype.kind == "b" else np.iinfo(dtype).max))
    return array


def _dtype(dtype: Any) -> Any:
    """Return the NumPy dtype of one of NumPy or of a compiler."""
    try:
        return np.dtype(dtype)
    except TypeError:
        return as_dtype(dtype) if isinstance(dtype, types.Type) else np.dtype(str(dtype))

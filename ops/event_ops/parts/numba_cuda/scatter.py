"""Adding updates where indices point: how an index becomes a place, and the kernel that adds."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import jax
import numpy as np
from numba import cuda

from event_ops.parts.numba_cuda.threads import BLOCK, WARP, blocks_of, next_power_of_two
from ffi_bridge import numba_cuda_callable

MAX_BLOCKS_ACROSS = 65535  # along the second axis of a grid


@cache
def place_with(clip: bool, from_end: bool) -> Any:
    """Return the device function that gives the place of an index in [0, size), or -1 for one to drop."""

    @cuda.jit(device=True)
    def place_of(index: Any, size: Any) -> Any:
        if index >= size:  # before the cast, for which an unsigned index may be too large
            return size - 1 if clip else -1
        place = np.int64(index)
        if from_end and place < 0:
            place += size
        if place < 0:
            return min(0, size - 1) if clip else -1  # no end is near where size is 0
        return place

    return place_of


@cuda.jit(device=True)
def add_real(y: Any, place: Any, value: Any) -> None:
    """y[place] += value."""
    cuda.atomic.add(y, place, y.dtype.type(value))


@cuda.jit(device=True)
def add_complex(y: Any, place: Any, value: Any) -> None:
    """y[place] += value, part by part: no atomic takes a complex number."""
    cuda.atomic.add(y.real, place, value.real)
    cuda.atomic.add(y.imag, place, value.imag)


def add_for(dtype: Any) -> Any:
    """Return the device function that adds a number of this dtype."""
    return add_complex if np.dtype(dtype).kind == "c" else add_real


@cache
def add_rows_with(clip: bool, from_end: bool, run: int, add: Any) -> Any:
    """Return the kernel `y[indices[k]] += updates[k]`, row by row; a single row of updates serves all.

    Each thread takes `run` successive updates, and sums those for the same place before it adds them to y.
    """
    place_of = place_with(clip, from_end)

    @cuda.jit
    def add_rows(indices: Any, updates: Any, y: Any) -> None:
        first = (cuda.blockIdx.x * cuda.blockDim.y + cuda.threadIdx.y) * run
        last = min(first + run, indices.size)
        column = cuda.blockIdx.y * cuda.blockDim.x + cuda.threadIdx.x
        for c in range(column, y.shape[1], cuda.gridDim.y * cuda.blockDim.x):
            here, total = -1, y.dtype.type(0)
            for k in range(first, last):
                place = place_of(indices[k], y.shape[0])
                if place != here:
                    if here >= 0:
                        add(y, (here, c), total)
                    here, total = place, y.dtype.type(0)
                total += updates[min(k, updates.shape[0] - 1), c]
            if here >= 0:
                add(y, (here, c), total)

    return add_rows


def launch_add_rows(
    indices: Any, updates: Any, y: Any, stream: Any, *, mode: str, from_end: bool = False, run: int = 1
) -> None:
    """Launch `y[indices[k]] += updates[k]` for matrices; within a function for `numba_cuda_callable`."""
    width = y.shape[1]
    across = next_power_of_two(width, WARP)
    along = BLOCK // across
    grid = blocks_of(indices.size, along * run), min(MAX_BLOCKS_ACROSS, blocks_of(width, across))
    kernel = add_rows_with(mode == "clip", from_end, run, add_for(y.dtype))
    kernel[grid, (across, along), stream](indices, updates, y)


def atomic_dtype(dtype: Any) -> Any:
    """Return the dtype to add up in: atomics need 32 bits, and integers wrap round to the same sums."""
    kind = np.dtype(dtype)
    return np.dtype(np.int32) if kind.itemsize < np.dtype(np.int32).itemsize else kind


def adding_callable(function: Any, outs: Any) -> Callable[..., Any]:
    """Return `numba_cuda_callable` of a function that clears y, of `atomic_dtype`, and adds atomically."""
    run = numba_cuda_callable(function, jax.ShapeDtypeStruct(outs.shape, atomic_dtype(outs.dtype)))
    return lambda *arrays: run(*arrays).astype(outs.dtype)

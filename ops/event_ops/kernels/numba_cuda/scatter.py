"""Updates where indices point: how an index becomes a place, and the kernel that adds or compares there."""

from collections.abc import Callable
from functools import cache
from typing import Any

import jax
import numpy as np
from numba import cuda

from event_ops.kernels.numba_cuda.combine import combining
from event_ops.kernels.numba_cuda.threads import BLOCK, WARP, blocks_of, next_power_of_two
from event_ops.kernels.reference.neutral import neutral
from event_ops.kernels.reference.ordered import bits_dtype
from ffi_bridge import numba_cuda_callable

MAX_BLOCKS_ACROSS = 65535  # along the second axis of a grid
RUN = 8  # updates of a thread if indices ascend: as many as lie in one sector of memory


@cache
def make_place_of(clip: bool, from_end: bool) -> Any:
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


@cache
def make_combine_rows(how: str, dtype: Any, clip: bool, from_end: bool, run: int) -> Any:
    """Return the kernel that puts updates[k] to y[indices[k]], row by row; a single row of them serves all.

    Each thread takes `run` successive updates, and combines those for the same place before it puts them.
    """
    place_of, (combine, put) = make_place_of(clip, from_end), combining(how, dtype)
    nothing = neutral(how, bits_dtype(dtype) if how in ("max", "min") else dtype)

    @cuda.jit
    def combine_rows(indices: Any, updates: Any, y: Any) -> None:
        first = (cuda.blockIdx.x * cuda.blockDim.y + cuda.threadIdx.y) * run
        last = min(first + run, indices.size)
        column = cuda.blockIdx.y * cuda.blockDim.x + cuda.threadIdx.x
        for c in range(column, y.shape[1], cuda.gridDim.y * cuda.blockDim.x):
            here, total = -1, nothing
            for k in range(first, last):
                place = place_of(indices[k], y.shape[0])
                # Updates for one place are put by one atomic; only the ends of a run meet another thread's.
                if place != here:
                    if here >= 0:
                        put(y, (here, c), total)
                    here, total = place, nothing
                total = combine(total, updates[min(k, updates.shape[0] - 1), c])
            if here >= 0:
                put(y, (here, c), total)

    return combine_rows


def launch_rows(
    how: str, arrays: tuple[Any, Any, Any], stream: Any, mode: str, *, from_end: bool, ascending: bool
) -> None:
    """Launch `combine_rows` on (indices, updates, y) by a combination.

    It is called within a function for `numba_cuda_callable`.
    """
    indices, updates, y = arrays
    run = RUN if ascending else 1
    width = y.shape[1]
    across = next_power_of_two(width, WARP)
    along = BLOCK // across
    grid = blocks_of(indices.size, along * run), min(MAX_BLOCKS_ACROSS, blocks_of(width, across))
    kernel = make_combine_rows(how, updates.dtype, mode == "clip", from_end, run)
    kernel[grid, (across, along), stream](*arrays)


def atomic_dtype(dtype: Any) -> Any:
    """Return the dtype to add up in: atomics need 32 bits, and integers wrap round to the same sums."""
    kind = np.dtype(dtype)
    return np.dtype(np.int32) if kind.itemsize < np.dtype(np.int32).itemsize else kind


def adding_callable(function: Any, outs: Any) -> Callable[..., Any]:
    """Return `numba_cuda_callable` of a function that clears y, of `atomic_dtype`, and adds atomically."""
    run = numba_cuda_callable(function, jax.ShapeDtypeStruct(outs.shape, atomic_dtype(outs.dtype)))
    return lambda *arrays: run(*arrays).astype(outs.dtype)

"""How many threads a kernel is given, and clearing what atomics add to."""

from __future__ import annotations

from typing import Any

from numba import cuda

BLOCK = 256  # threads in a block
WARP = 32
WARPS = BLOCK // WARP
FULL = 0xFFFFFFFF  # every lane of a warp
OCCUPIED = BLOCK, 2048 // BLOCK  # launch bounds: registers for as many blocks as a multiprocessor can hold


def blocks_of(threads: int, block: int = BLOCK) -> int:
    """How many blocks hold so many threads."""
    return -(-threads // block)


def next_power_of_two(count: int, most: int) -> int:
    """The least power of two >= `count`; at most `most`, which is one."""
    return min(most, 1 << max(0, count - 1).bit_length())


@cuda.jit
def fill(y: Any, value: Any) -> None:
    """y[:] = value for a flat y."""
    i = cuda.grid(1)
    if i < y.size:
        y[i] = value


def clear(y: Any, stream: Any) -> None:
    """Launch `y = 0`; within a function for `numba_cuda_callable`."""
    if y.size:
        fill[blocks_of(y.size), BLOCK, stream](y.ravel(), 0)

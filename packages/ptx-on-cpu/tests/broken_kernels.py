"""The catalogue of broken kernels: how each is launched, and what its message says; `.cu` has the kernels."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numba import cuda

from ptx_on_cpu import Buffer

SIZE = 100  # of arrays, in elements
FILE = "broken_kernels.cu"


@dataclass(frozen=True)
class Broken:
    """A launch; `says`: pieces of the message; `function`: where the mistake is, if not in the kernel.

    `unwritten`: positions of arguments that nobody has written.
    """

    grid: tuple[int, ...]
    block: tuple[int, ...]
    arguments: tuple[Any, ...]
    says: Sequence[str]
    shared: int = 0
    function: str = ""
    unwritten: Sequence[int] = field(default_factory=tuple)


def floats(size: int = SIZE) -> np.ndarray:
    """Return ones that nobody else refers to, at a multiple of 16 bytes."""
    whole = np.ones(size + 4, "f")
    start = -whole.ctypes.data % 16 // 4
    return whole[start : start + size]


def words(size: int = SIZE) -> np.ndarray:
    """Return zeros."""
    return np.zeros(size, np.int32)


def _input() -> np.ndarray:
    array = floats()
    array.flags.writeable = False
    return array


_N = np.int32(SIZE)


def memory() -> dict[str, Broken]:
    """Return launches of kernels that use memory wrongly."""
    neighbours = floats(2 * SIZE)
    return {
        "read_one_beyond": Broken(
            (2,), (64,), (floats(), floats(SIZE + 1), _N),
            [
                "thread (36, 0, 0) of block (1, 0, 0) reads 4 bytes out of bounds",
                "byte 400 of argument 0, which has 400",
            ],
        ),
        "write_far_beyond": Broken(
            (2,), (64,), (floats(), _N),
            [
                "thread (0, 0, 0) of block (0, 0, 0) writes 4 bytes out",
                "byte 4000000 of argument 0, which has 400",
            ],
        ),
        "negative_index": Broken(
            (2,), (64,), (floats(), _N),
            ["thread (0, 0, 0)", "writes", "byte -4 of argument 0, which has 400"],
        ),
        "atomic_beyond": Broken((1,), (32,), (words(), _N), ["updates 4 bytes", "byte 400 of argument 0"]),
        "vector_over_the_end": Broken(
            (1,), (32,), (floats(), floats(), _N),
            ["thread (25, 0, 0)", "reads 16 bytes", "byte 400 of argument 0, which has 400"],
        ),
        "into_the_neighbour": Broken(
            (2,), (64,), (neighbours[:SIZE], neighbours[SIZE:], _N),
            ["thread (0, 0, 0) of block (0, 0, 0) writes", "byte 400 of argument 0, which has 400"],
        ),
        "in_a_function": Broken(
            (1,), (8, 16), (floats(), _N), ["thread (4, 12, 0)", "byte 400 of argument 0"], function="put",
        ),
        "static_shared_beyond": Broken(
            (1,), (64,), (floats(),),
            ["thread (63, 0, 0)", "reads", "byte 256 of shared memory, which has 256"],
        ),
        "dynamic_shared_beyond": Broken(
            (1,), (64,), (floats(),),
            ["thread (63, 0, 0)", "writes", "byte 256 of shared memory, which has 256"], shared=256,
        ),
        "local_beyond": Broken(
            (1,), (8,), (floats(), np.int32(8)), ["writes", "byte 32 of its local memory, which has 32"],
        ),
        "misaligned_vector": Broken(
            (1,), (8,), (floats(), floats()),
            ["reads 8 bytes at byte 4 of argument 0", "a multiple of the 8 bytes"],
        ),
        "misaligned_shared": Broken(
            (1,), (64,), (np.zeros(64),),
            ["thread (3, 0, 0)", "writes 8 bytes at byte 28 of shared", "multiple of the 8"],
        ),
        "write_to_input": Broken(
            (1,), (64,), (_input(), floats(), np.int32(33)),
            ["thread (33, 0, 0)", "writes 4 bytes at byte 132 of argument 0", "read-only"],
        ),
        "unwritten_shared": Broken(
            (1,), (64,), (floats(), floats()),
            ["thread (60, 0, 0)", "reads 4 bytes at byte 12 of shared memory", "nobody has written"],
        ),
        "unwritten_local": Broken(
            (1,), (64,), (np.arange(8, dtype=np.int32), floats(), np.int32(8)),
            ["thread (0, 0, 0)", "reads 4 bytes at byte 0 of its local memory, which has 32", "nobody has"],
        ),
        "unwritten_output": Broken(
            (1,), (64,), (floats(), floats(), _N),
            ["thread (0, 0, 0)", "reads 4 bytes at byte 0 of argument 1", "nobody has written"],
            unwritten=[1],
        ),
        "atomic_on_unwritten": Broken(
            (1,), (64,), (words(),), ["updates 4 bytes at byte 0 of argument 0", "nobody has written"],
            unwritten=[0],
        ),
    }  # fmt: skip


def waiting() -> dict[str, Broken]:
    """Return launches of kernels that wait for ever, or trap."""
    return {
        "two_barriers": Broken((2,), (64,), (floats(128),), ["at different places", "5 at", "59 at"]),
        "named_barriers": Broken((1,), (64,), (floats(),), ["wait for ever", "32 at"]),
        "barrier_beside_loop": Broken((1,), (64,), (words(),), ["loops without an end, or wait", "32 at"]),
        "warp_mask_too_wide": Broken((1,), (32,), (floats(),), ["wait for ever", "16 at", "bar.sync"]),
        "shuffle_mask_too_wide": Broken((1,), (32,), (words(),), ["wait for ever", "16 at", "shfl.sync"]),
        "endless_loop": Broken(
            (1,), (32,), (words(), words()), ["block (0, 0, 0)", "loops without an end", "32 at"],
        ),
        "lock_that_nobody_releases": Broken(
            (2,), (32,), (words(), words()), ["loops without an end", "31 at"],
        ),
        "trapped": Broken((2,), (32,), (np.arange(32, dtype=np.int32),), ["thread (7, 0, 0)", "trapped"]),
        "asserted": Broken(
            (1,), (32,), (np.arange(32, dtype=np.int32),), ["thread (7, 0, 0)", "assertion: x is not seven"],
        ),
    }  # fmt: skip


def races() -> dict[str, Broken]:
    """Return launches of kernels with accesses that nothing orders."""
    return {
        "sum_without_barrier": Broken((1,), (128,), (floats(128), floats(1)), ["shared memory"]),
        "first_barrier_missing": Broken((1,), (64,), (floats(), floats()), ["shared memory"]),
        "warp_without_syncwarp": Broken((1,), (32,), (floats(), floats()), ["shared memory"]),
        "two_blocks_one_element": Broken((2,), (64,), (floats(128), _N), ["argument 0"]),
        "load_beside_atomic": Broken((2,), (32,), (words(1), words()), ["argument 0"]),
        "last_block_without_fence": Broken(
            (4,), (32,), (floats(), floats(), words(1), floats(1)), ["argument 1"],
        ),
    }  # fmt: skip


def with_guard(x, y):
    """Copy; right for any size."""
    i = cuda.grid(1)
    if i < y.size:
        y[i] = 2 * x[i]


def without_guard(x, y):
    """Copy; wrong where the grid is larger than the arrays."""
    i = cuda.grid(1)
    y[i] = 2 * x[i]  # here


def grid_waits(x, y):
    """Wait for all blocks, in the middle."""
    block = cuda.blockIdx.x
    x[block] = block
    cuda.cg.this_grid().sync()
    y[block] = x[(block + 1) % cuda.gridDim.x]


def parameters(broken: Broken, known: Any) -> list[Any]:
    """Return the arguments; those that nobody has written are pointers to buffers that say so."""
    given: list[Any] = []
    for i, argument in enumerate(broken.arguments):
        if i in broken.unwritten:
            name = f"argument {i}"
            buffer = Buffer(name, argument.ctypes.data, argument.nbytes, is_written=False, owner=argument)
            given.append(np.uint64(known.add(buffer)))
        else:
            given.append(argument)
    return given

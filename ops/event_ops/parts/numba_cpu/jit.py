"""How the catalog's Numba kernels are compiled: `njit`, flags, instructions of LLVM, and the thread count."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numba
import numpy as np
from numba import get_num_threads, set_parallel_chunksize, types
from numba.extending import intrinsic, overload

from ffi_bridge.numba_cpu.internals import GET_NUM_THREADS, SET_CHUNK_SIZE, config

numba_njit: Any = numba.njit  # its declared overloads lack these options
# Without entries for Python and C, which nobody calls, there is less to compile.
njit: Any = partial(numba_njit, no_cpython_wrapper=True, no_cfunc_wrapper=True)


# Sums may be reordered and contracted, which is what lets a reduction vectorise. `nnan` and `ninf` stay out:
# with them LLVM may assume that no NaN or infinity occurs, and the operators promise to carry both through.
REORDER = {"contract", "reassoc", "nsz", "arcp"}


def instruction(in_python: Callable[..., Any]) -> Callable[[Any], Any]:
    """Decorate a function as `numba.extending.intrinsic` does; NUMBA_DISABLE_JIT uses `in_python` instead."""
    if config.DISABLE_JIT:
        return lambda _: in_python
    return intrinsic(prefer_literal=True)


# Numba's own functions go through pointers from ctypes, which keep a kernel out of every cache on disk.
_count: Any = types.ExternalFunction(GET_NUM_THREADS, types.intp())
_chunk: Any = types.ExternalFunction(SET_CHUNK_SIZE, types.void(types.uintp))


def num_threads() -> int:
    """Return how many threads a parallel loop of the calling thread uses."""
    return get_num_threads()


@overload(num_threads, inline="always")
def _num_threads() -> Any:
    return lambda: _count()


def take_chunks_of(size: int) -> None:
    """Have the next parallel loops take chunks of so many turns; 0: one share for each thread.

    `numba.parallel_chunksize` does so for a block, but a kernel with that block cannot be inlined.
    """
    set_parallel_chunksize(size)


@overload(take_chunks_of, strict=False, inline="always")
def _take_chunks_of(size: Any) -> Any:
    return lambda size: _chunk(np.uintp(size))

"""How the catalog's Numba kernels are compiled: `njit`, flags, instructions of LLVM, and the thread count."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numba
import numpy as np
from numba import get_num_threads, set_parallel_chunksize, types
from numba.extending import intrinsic, overload

from ffi_bridge.numba_cpu import GET_NUM_THREADS, SET_CHUNK_SIZE, config

numba_njit: Any = numba.njit  # its declared overloads lack these options
# Without entries for Python and C, which nobody calls, there is less to compile.
njit: Any = partial(numba_njit, no_cpython_wrapper=True, no_cfunc_wrapper=True)

# Inlined without reference counts, which would take longer than a short row; declared options lack the first.
INLINED: Any = {"_nrt": False, "forceinline": True}

# What LLVM may do to floats. A product and a sum may become one instruction, which only spares a rounding.
CONTRACT = {"contract"}
# Sums may be reordered, too, which is what lets a reduction vectorise; of 0.0 and -0.0 they may give either.
# For sums of products alone: elsewhere LLVM makes y of (x + y) - x, which is NaN for an infinite x. The other
# flags stay out. `nnan` and `ninf` say that no NaN or infinity occurs, and operators carry both through. With
# `arcp` a quotient is a product with 1 / x, which is 0 for large x, and 1 / sqrt(x) an estimate, which is NaN
# at 0 and infinity. `afn` makes estimates of functions.
REORDER = {*CONTRACT, "reassoc", "nsz"}


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

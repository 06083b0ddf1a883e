"""How the catalog's Numba kernels are compiled: `njit`, flags, instructions of LLVM, and the thread count."""

from collections.abc import Callable
from functools import partial, wraps
from typing import Any

import numba
import numpy as np
from numba import get_num_threads, set_parallel_chunksize, types
from numba.extending import intrinsic, overload

from ffi_bridge.numba_cpu import GET_NUM_THREADS, SET_CHUNK_SIZE, as_dtype, config

numba_njit: Any = numba.njit  # its declared overloads lack these options
# Without entries for Python and C, which nobody calls, there is less to compile.
NO_ENTRIES: Any = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
njit: Any = partial(numba_njit, **NO_ENTRIES)

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


def one_and_all(make: Callable[[bool], Callable[..., Any]]) -> tuple[Any, Any]:
    """Return the kernels of make(False), for one thread, and of make(True), for all.

    The second is inlined where another kernel calls it, since only the parallel regions of a kernel itself
    run without the GIL.
    """
    return njit(make(False)), njit(parallel=True, inline="always")(make(True))


def instruction(interpreted: Callable[..., Any]) -> Callable[[Any], Any]:
    """Decorate a function as `numba.extending.intrinsic` does; NUMBA_DISABLE_JIT uses `interpreted`."""
    if config.DISABLE_JIT:
        return lambda _: interpreted
    # Literal: the width of a SIMD value has to be known when it gets its type.
    return intrinsic(prefer_literal=True)


def by_type(choose: Any = None, *, interpreted: Any = None, **options: Any) -> Any:
    """Decorate a function that returns the function to be called, by the types of its arguments.

    Numba passes its types and compiles what is returned, with `options`. With NUMBA_DISABLE_JIT each call
    passes its arguments first, or goes to `interpreted`; so `choose` asks by the functions below.
    """
    if choose is None:
        return partial(by_type, interpreted=interpreted, **options)

    @wraps(choose)
    def chosen(*arguments: Any) -> Any:
        return (interpreted or choose(*arguments))(*arguments)

    overload(chosen, strict=False, jit_options=NO_ENTRIES | options)(choose)
    return chosen


def is_array(x: Any) -> bool:
    """Return whether an argument is an array, 0-d ones too, or its type is that of one."""
    return isinstance(x, types.Array | np.ndarray)


def is_tuple(x: Any) -> bool:
    """Return whether an argument is a tuple, or its type is that of one."""
    return isinstance(x, types.BaseTuple | tuple)


def dtype_of(x: Any) -> np.dtype[Any]:
    """Return NumPy's dtype of an array or a number, or of a type of either."""
    kind = getattr(x, "dtype", x)
    if isinstance(kind, types.Type):
        return as_dtype(kind)
    return kind if isinstance(kind, np.dtype) else np.dtype(type(kind))


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
    """Have the next parallel loops take chunks of `size` turns; 0: one share for each thread.

    `numba.parallel_chunksize` does so for a block, but a kernel with that block cannot be inlined.
    """
    set_parallel_chunksize(size)


@overload(take_chunks_of, strict=False, inline="always")
def _take_chunks_of(size: Any) -> Any:
    return lambda size: _chunk(np.uintp(size))

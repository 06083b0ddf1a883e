"""Where the parallel regions of Numba kernels run: on XLA's threads, when XLA calls them.

Numba's machine code calls its thread pool by names, which LLVM resolves. LLVM is given other functions under
these names: within a call from XLA they use XLA's pool, and Numba's own otherwise.
"""

from __future__ import annotations

import ctypes
import functools
from typing import Final

import numba
from llvmlite import binding as llvm

from ffi_bridge.handler.engine import compile_module
from ffi_bridge.numba_cpu.internals import PARALLEL_FOR, THREAD_ID
from ffi_bridge.numba_cpu.parallel_region import ARRIVE, DEPART, emit_pool

_FUNCTIONS: Final = {PARALLEL_FOR: "enter", THREAD_ID: "thread_id", ARRIVE: ARRIVE, DEPART: DEPART}


@functools.cache
def start_threads() -> object:
    """Name our functions to LLVM for all that is loaded from here on; return what keeps them alive."""
    numba.get_num_threads()  # has Numba name its own functions
    module = emit_pool(_new_key(), *map(llvm.address_of_symbol, (PARALLEL_FOR, THREAD_ID)))
    engine = compile_module(module, opt=0)  # compiles in a third of the time, and nothing here is slow
    for symbol, function in _FUNCTIONS.items():
        llvm.add_symbol(symbol, engine.get_function_address(function))
    return engine


def _new_key() -> int:
    """Return a new key, under which each POSIX thread keeps a value of its own, NULL to begin with."""
    key = ctypes.c_ulong()  # as wide as the widest of any system
    if error := ctypes.CDLL(None).pthread_key_create(ctypes.byref(key), None):
        raise OSError(error, "no key for values of threads was left")
    return key.value

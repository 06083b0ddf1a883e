"""Numba's thread pool, as kernels that XLA calls from threads of its own need it."""

from __future__ import annotations

import ctypes
import functools
from typing import Final

import numba
from llvmlite import binding as llvm
from numba.np.ufunc import parallel

MUTEX: Final = "ffi_bridge.workqueue_mutex"

_storage: Final = (ctypes.c_uint64 * 16)()  # as long as the process: what is compiled refers to it


def start_threads() -> None:
    """Load the threading layer, and give LLVM the names of its functions."""
    numba.get_num_threads()


def serialises() -> bool:
    """Whether kernels enter the pool one at a time: `workqueue` is the one layer that aborts otherwise."""
    if parallel.threading_layer() != "workqueue":
        return False
    _name_mutex()
    return True


@functools.cache
def _name_mutex() -> None:
    """Make the one mutex of all kernels on the `workqueue` layer, known to LLVM by name."""
    ctypes.CDLL(None).pthread_mutex_init(ctypes.byref(_storage), None)
    llvm.add_symbol(MUTEX, ctypes.addressof(_storage))

"""Kernels that write numbers to a file: what they have written says in which order they ran."""

import ctypes
import os
import tempfile
from collections.abc import Callable
from typing import Any, Final

import jax
import numba
import numpy as np

FD, _path = tempfile.mkstemp()  # a constant of the kernels
os.unlink(_path)
MOST: Final = 4096  # bytes

_libc = ctypes.CDLL(None)
write = _libc.write
write.restype, write.argtypes = ctypes.c_ssize_t, [ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t]
wait = _libc.usleep
wait.restype, wait.argtypes = ctypes.c_int, [ctypes.c_uint]


@numba.njit
def put(number: Any, x: Any, y: Any) -> None:
    """Write `number`, after a while if it is even, so that whatever does not wait for it comes first."""
    if number % 2 == 0:
        wait(2000)
    word = np.array([number], np.int32)
    write(FD, word.ctypes, 4)
    y[:] = x


@numba.njit
def put_and_add(number: Any, x: Any) -> Any:
    """Write 100 more than `number`."""
    word = np.array([number + 100], np.int32)
    write(FD, word.ctypes, 4)
    return x + 1


def written(program: Callable[..., Any], *args: Any) -> list[int]:
    """Return the numbers that kernels write while `program(*args)` runs."""
    os.ftruncate(FD, 0)
    os.lseek(FD, 0, os.SEEK_SET)
    jax.block_until_ready(program(*args))
    jax.effects_barrier()
    found = os.pread(FD, MOST, 0)
    assert len(found) < MOST
    return np.frombuffer(found, np.int32).tolist()

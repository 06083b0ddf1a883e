"""Kernels with parallel regions of every kind, and programs that enter them from many threads at once."""

import threading
from collections.abc import Callable
from typing import Any, Final

import jax
import jax.numpy as jnp
import numba
import numpy as np

from ffi_bridge import numba_kernel

N: Final = 50_000
OUT: Final = jax.ShapeDtypeStruct((N,), jnp.float32)
X: Final = np.arange(N, dtype="f")


@numba.njit
def add_serial(x, y, out):
    for i in range(out.size):
        out[i] = x[i] + y[i]


@numba.njit(parallel=True)
def add_parallel(x, y, out):
    for i in numba.prange(out.size):
        out[i] = x[i] + y[i]


@numba.njit
def through_a_function(x, y, out):
    add_parallel(x, y, out)


@numba.njit(parallel=True)
def two_regions(x, y, out):
    for i in numba.prange(out.size):
        out[i] = x[i]
    for i in numba.prange(out.size):
        out[i] += y[i]


@numba.njit(parallel=True)
def without_a_loop(x, y, out):
    out[:] = x + y


@numba.njit(parallel=True)
def region_in_region(x, y, out):
    parts = 4
    size = out.size // parts
    for part in numba.prange(parts):
        begin = part * size
        end = out.size if part == parts - 1 else begin + size
        add_parallel(x[begin:end], y[begin:end], out[begin:end])


def adds(kernel: Any) -> Callable[[Any, Any], Any]:
    """The operation of one of the kernels above, which all compute x + y."""
    return numba_kernel(kernel, OUT)


def many_at_once(f: Callable[[Any, Any], Any], programs: int = 6) -> None:
    """Calls in one program that do not wait for each other."""
    many = jax.jit(lambda x: [f(x + i, x) for i in range(programs)])
    for _ in range(10):
        for i, out in enumerate(many(X)):
            np.testing.assert_array_equal(out, X + i + X)


def in_threads(count: int, work: Callable[[int], None]) -> None:
    """`work(i)` in `count` threads that begin together; the first exception is raised here."""
    failures: list[BaseException] = []
    barrier = threading.Barrier(count)

    def guarded(i: int) -> None:
        try:
            barrier.wait()
            work(i)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=guarded, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]

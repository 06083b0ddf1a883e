"""Resident memory that calls, wrappers and kernels leave behind; prints bytes.

`python memory_growth.py calls 1000`
"""

import gc
import itertools
import json
import os
import sys

import jax
import jax.numpy as jnp
import numba

from ffi_bridge import numba_kernel

X = jnp.arange(8, dtype=jnp.float32)
OUT = jax.ShapeDtypeStruct(X.shape, X.dtype)
PAGE = os.sysconf("SC_PAGE_SIZE")


@numba.njit
def double(x, y):
    for i in range(x.size):
        y[i] = 2 * x[i]


def kernel_of(factor):
    @numba.njit
    def times(x, y):
        for i in range(x.size):
            y[i] = factor * x[i]

    return times


WRAPPED = numba_kernel(double, OUT)
FACTORS = itertools.count(3)


def calls(count):
    for _ in range(count):
        y = WRAPPED(X)
    return y, 2


def wrappers(count):
    for _ in range(count):
        y = numba_kernel(double, OUT)(X)
    return y, 2


def kernels(count):
    for _ in range(count):
        factor = next(FACTORS)
        y = numba_kernel(kernel_of(factor), OUT)(X)
    return y, factor


def resident():
    gc.collect()
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * PAGE


def growth(what, count):
    """Bytes that `count` of them add, after a tenth has filled what is filled once."""
    what(max(1, count // 10))
    before = resident()
    y, factor = what(count)
    assert y.tolist() == (factor * X).tolist()
    return resident() - before


if __name__ == "__main__":
    what, count = sys.argv[1:]
    print(json.dumps(growth({"calls": calls, "wrappers": wrappers, "kernels": kernels}[what], int(count))))

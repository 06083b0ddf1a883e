"""Resident memory that calls, wrappers and kernels leave behind; prints bytes.

`python memory_growth.py calls 1000`
"""

import itertools
import sys

import jax
import jax.numpy as jnp
import numba
from resident import resident

from ffi_bridge import numba_kernel

X = jnp.arange(8, dtype=jnp.float32)
OUT = jax.ShapeDtypeStruct(X.shape, X.dtype)


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


def growth(make, count):
    """Bytes that `count` of them add, after a tenth has filled what is filled once."""
    make(max(1, count // 10))
    before = resident()
    y, factor = make(count)
    assert y.tolist() == (factor * X).tolist()
    return resident() - before


if __name__ == "__main__":
    what, count = sys.argv[1:]
    print(growth({"calls": calls, "wrappers": wrappers, "kernels": kernels}[what], int(count)))

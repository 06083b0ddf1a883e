"""Operators with a broken CUDA kernel, and a right one, for `pytest --emulate-gpu --operators`.

All are to give sums of x over its rows.
"""

import jax
import numpy as np
from numba import cuda

from event_ops_harness.conformance import Case, Operator
from ffi_bridge import XLACustomKernel, numba_cuda_kernel

ROWS, COLUMNS = 4, 64


@cuda.jit
def adds_up(x, y):
    i = cuda.grid(1)
    if i < y.size:
        total = x.dtype.type(0)
        for j in range(x.shape[1]):
            total += x[i, j]
        y[i] = total


@cuda.jit
def reads_beyond(x, y):
    i = cuda.grid(1)
    total = x.dtype.type(0)
    for j in range(x.shape[1]):
        total += x[i, j]
    if i < y.size:
        y[i] = total


@cuda.jit
def adds_without_atomics(x, y):
    i = cuda.blockIdx.x
    if i >= y.size:
        return
    y[i] = 0
    cuda.syncthreads()
    y[i] += x[i, cuda.threadIdx.x]


@cuda.jit
def forgets_to_clear(x, y):
    i = cuda.blockIdx.x
    if i < y.size:
        cuda.atomic.add(y, i, x[i, cuda.threadIdx.x])


@cuda.jit
def drops_the_last(x, y):
    i = cuda.grid(1)
    if i < y.size:
        y[i] = x[i, 0]
        for j in range(1, x.shape[1] - 1):
            y[i] += x[i, j]


def make(rng, dtype, index_dtype):
    return (rng.random((ROWS, COLUMNS)).astype(dtype),), {"outs": jax.ShapeDtypeStruct((ROWS,), dtype)}


def operator(kernel, grid, block):
    made = XLACustomKernel(kernel.__name__)
    made.def_reference(lambda **_: lambda x: x.sum(1))
    made.def_numba_cuda_kernel(lambda *, outs, **_: numba_cuda_kernel(kernel, outs, grid=grid, block=block))
    return Operator(made.name, made, made, (np.dtype(np.float32).name,), (Case("some", make),))


OPERATORS = (
    operator(adds_up, 1, ROWS),
    operator(reads_beyond, 1, 2 * ROWS),
    operator(adds_without_atomics, ROWS, COLUMNS),
    operator(forgets_to_clear, ROWS, COLUMNS),
    operator(drops_the_last, 1, ROWS),
)

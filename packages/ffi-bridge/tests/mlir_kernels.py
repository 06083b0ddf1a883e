"""Kernels of numba-cuda-mlir that its tests wrap."""

import math

from numba_cuda_mlir import cuda, types

BLOCK = 64


@cuda.jit
def add(x, y, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i] + y[i]


@cuda.jit
def scale(x, factor, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = factor[()] * x[i]


@cuda.jit
def total(x, out):
    out[()] = x[0] + x[1]


@cuda.jit
def affine(x, flag, a, b, c, y):
    i = cuda.grid(1)
    if i < y.size and flag:
        y[i] = a * x[i] + b + c.real


@cuda.jit(device=True)
def square(v):
    return v * v


@cuda.jit(fastmath=True, max_registers=32, launch_bounds=128)
def norm(x, y, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = math.sqrt(square(x[i]) + square(y[i]))


@cuda.jit
def block_sum(x, sums):
    shared = cuda.shared.array(BLOCK, types.float32)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    shared[t] = x[i] if i < x.size else 0.0
    cuda.syncthreads()
    stride = BLOCK // 2
    while stride > 0:
        if t < stride:
            shared[t] += shared[t + stride]
        cuda.syncthreads()
        stride //= 2
    if t == 0:
        sums[cuda.blockIdx.x] = shared[0]


@cuda.jit
def histogram(x, empty, bins):
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.add(bins, x[i], 1)


@cuda.jit
def moved(x, out):
    i, j, k = cuda.grid(3)
    if i < out.shape[0] and j < out.shape[1] and k < out.shape[2]:
        out[i, j, k] = x[k]


@cuda.jit
def writes_input(x, out):
    x[0] = 1
    out[0] = 1


@cuda.jit
def misspelt(x, out):
    out[0] = x.shapes


@cuda.jit
def whole_grid(x, out):
    grid = cuda.cg.this_grid()
    grid.sync()
    out[0] = x[0]

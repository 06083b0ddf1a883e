"""CUDA kernels that the tests of several files wrap, and how."""

import math

import jax
import jax.numpy as jnp
import numba
from numba import cuda

from ffi_bridge import numba_cuda_kernel

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
def split(x, positive, negative):
    i = cuda.grid(1)
    if i < x.size:
        positive[i] = max(x[i], 0.0)
        negative[i] = min(x[i], 0.0)


@cuda.jit
def outer(x, y, out):
    i, j = cuda.grid(2)
    if i < out.shape[0] and j < out.shape[1]:
        out[i, j] = x[i] * y[j]


@cuda.jit
def number(out):
    i, j, k = cuda.grid(3)
    if i < out.shape[0] and j < out.shape[1] and k < out.shape[2]:
        out[i, j, k] = 100 * i + 10 * j + k


@cuda.jit
def count_up(before, after):
    i = cuda.grid(1)
    if i < after.size:
        after[i] += 1


@cuda.jit
def block_sum(x, sums):
    shared = cuda.shared.array(BLOCK, numba.float32)
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
def reversed_block(x, out):
    shared = cuda.shared.array(0, numba.float32)  # as large as the launch says
    t = cuda.threadIdx.x
    shared[t] = x[t]
    cuda.syncthreads()
    out[t] = shared[shared.size - 1 - t]


@cuda.jit
def warp_sum(x, out):
    i = cuda.grid(1)
    value = x[i]
    offset = 16
    while offset > 0:
        value += cuda.shfl_down_sync(0xFFFFFFFF, value, offset)
        offset //= 2
    if cuda.laneid == 0:
        out[i // 32] = value


@cuda.jit
def compact(flags, none, ids, count):
    i = cuda.grid(1)
    active = i < flags.size and flags[i]
    ballot = cuda.ballot_sync(0xFFFFFFFF, active)
    base = 0
    if cuda.laneid == 0:
        base = cuda.atomic.add(count, 0, cuda.popc(ballot))
    base = cuda.shfl_sync(0xFFFFFFFF, base, 0)
    if active:
        ids[base + cuda.popc(ballot & ((1 << cuda.laneid) - 1))] = i


@cuda.jit
def histogram(x, empty, bins):
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.add(bins, x[i], 1)


@cuda.jit(device=True)
def square(v):
    return v * v


@cuda.jit(fastmath=True, max_registers=32)
def norm(x, y, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = math.sqrt(square(x[i]) + square(y[i]))


@cuda.jit
def writes_input(x, out):
    x[0] = 1
    out[0] = 1


@cuda.jit
def adds_to_input(x, out):
    x += 1
    out[0] = 1


@cuda.jit
def writes_in_a_tuple(x, out):
    for array in (x, out):
        array[0] = 1


@cuda.jit
def gives_the_name_away(x, out):
    out = x[0]
    if out > 3:
        out += 1


@cuda.jit
def counts(n, out):
    for i in range(n):
        out[i] = 1


@cuda.jit
def beyond(x, out):
    out[out.size + cuda.threadIdx.x] = x[0]


@cuda.jit
def misspelt(x, out):
    out[0] = x.shapes


@cuda.jit
def whole_grid(x, out):
    grid = cuda.cg.this_grid()
    grid.sync()
    out[0] = x[0]


def out(*shape, dtype=jnp.float32):
    """An output."""
    return jax.ShapeDtypeStruct(shape, dtype)


def wrapped_add(n, **options):
    """`add` of vectors of n elements, a thread for each unless `options` say otherwise."""
    return numba_cuda_kernel(add, out(n), **({"launch_dims": n} | options))

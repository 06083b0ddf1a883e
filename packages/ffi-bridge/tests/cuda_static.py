"""A CUDA kernel with a static parameter, whose sign shows in its result."""

import math

from numba import cuda

from ffi_bridge import numba_cuda_kernel


@cuda.jit
def sign(x, y, c):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = math.copysign(x[i], c)


signs = numba_cuda_kernel(sign, lambda x, **_: x, launch_dims=3, static_argnames="c")

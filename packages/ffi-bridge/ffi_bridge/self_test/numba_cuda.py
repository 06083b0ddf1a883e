"""Compile and run a CUDA kernel of Numba."""

import jax
import jax.numpy as jnp
from numba import cuda

from ffi_bridge.numba_cuda.kernel import numba_cuda_kernel


@cuda.jit
def double(x, y):
    """y = 2 * x."""
    i = cuda.grid(1)
    if i < x.size:
        y[i] = 2 * x[i]


def run() -> bool:
    """Return whether the kernel doubles its input."""
    x = jnp.arange(4.0)
    call = numba_cuda_kernel(double, jax.ShapeDtypeStruct(x.shape, x.dtype), launch_dims=4)
    return bool((call(x) == 2 * x).all())

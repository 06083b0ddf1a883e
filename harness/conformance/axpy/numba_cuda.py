"""axpy on a GPU: one thread per element."""

from collections.abc import Callable
from typing import Any

from numba import cuda

from ffi_bridge import numba_cuda_kernel


@cuda.jit
def axpy(a: Any, x: Any, y: Any, z: Any) -> None:
    i = cuda.grid(1)
    if i < z.size:
        z[i] = a[()] * x[i] + y[i]


def build(*, outs: Any, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays that calls the kernel."""
    return numba_cuda_kernel(axpy, outs, launch_dims=outs.size)

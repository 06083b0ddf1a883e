"""axpy on the CPU: one vectorised pass."""

from collections.abc import Callable
from typing import Any

from numba import njit

from ffi_bridge import numba_kernel


@njit
def axpy(a: Any, x: Any, y: Any, z: Any) -> None:
    factor = a[()]
    for i in range(z.size):
        z[i] = factor * x[i] + y[i]


def build(*, outs: Any, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays that calls the kernel."""
    return numba_kernel(axpy, outs)

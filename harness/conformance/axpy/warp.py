"""axpy in Warp: one thread per element."""

from collections.abc import Callable
from typing import Any

import warp as wp

from ffi_bridge import warp_kernel


@wp.kernel(enable_backward=False)
def axpy(a: wp.array(dtype=Any), x: wp.array(dtype=Any), y: wp.array(dtype=Any), z: wp.array(dtype=Any)):
    i = wp.tid()
    z[i] = a[0] * x[i] + y[i]


def build(*, outs: Any, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays that calls the kernel."""
    return warp_kernel(axpy, outs)

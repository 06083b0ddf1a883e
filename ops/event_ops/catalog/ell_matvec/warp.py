"""ELL matrix times vector in Warp: one thread per row."""

from collections.abc import Callable
from typing import Any

import warp as wp

from event_ops.kernels.warp.access import Array, Array2d, place
from event_ops.kernels.warp.scatter import sums_of
from ffi_bridge import warp_kernel


@wp.kernel(enable_backward=False)
def gather_rows(data: Array2d, indices: Array2d, v: Array, y: Array):
    i = wp.tid()
    total = y.dtype(0)
    for k in range(indices.shape[1]):
        j = place(indices[i, k], v.shape[0])
        if j >= 0:
            total += data[i, k] * v[j]
    y[i] = total


@wp.kernel(enable_backward=False)
def scatter_rows(data: Array2d, indices: Array2d, v: Array, y: Array):
    i = wp.tid()
    for k in range(indices.shape[1]):
        j = place(indices[i, k], y.shape[0])
        if j >= 0:
            wp.atomic_add(y, j, data[i, k] * v[i])


def build(*, outs: Any, shape: tuple[int, int], transpose: bool, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays for one orientation."""
    product = sums_of(scatter_rows, outs, shape[0]) if transpose else warp_kernel(gather_rows, outs)
    return lambda data, indices, v: product(data.astype(outs.dtype), indices, v)

"""CSR matrix times dense matrix in Warp: one thread per row of A and column of B."""

from collections.abc import Callable
from typing import Any

import warp as wp

from event_ops.kernels.warp.access import Array, Array2d, at, bounded, place
from event_ops.kernels.warp.scatter import sums_of
from ffi_bridge import warp_kernel


@wp.kernel(enable_backward=False)
def gather_rows(data: Array, indices: Array, indptr: Array, B: Array2d, y: Array2d):
    i, c = wp.tid()
    nse = indices.shape[0]
    total = y.dtype(0)
    for k in range(bounded(indptr[i], nse), bounded(indptr[i + 1], nse)):
        j = place(indices[k], B.shape[0])
        if j >= 0:
            total += at(data, k) * B[j, c]
    y[i, c] = total


@wp.kernel(enable_backward=False)
def scatter_rows(data: Array, indices: Array, indptr: Array, B: Array2d, y: Array2d):
    i, c = wp.tid()
    nse = indices.shape[0]
    for k in range(bounded(indptr[i], nse), bounded(indptr[i + 1], nse)):
        j = place(indices[k], y.shape[0])
        if j >= 0:
            wp.atomic_add(y, j, c, at(data, k) * B[i, c])


def build(*, outs: Any, shape: tuple[int, int], transpose: bool, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays for one orientation."""
    dims = shape[0], outs.shape[1]
    product = sums_of(scatter_rows, outs, dims) if transpose else warp_kernel(gather_rows, outs)
    return lambda data, indices, indptr, B: product(data.reshape(-1).astype(outs.dtype), indices, indptr, B)

"""Many threads that add to one array at once, as rows of active events do."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import warp as wp

from event_ops.kernels.warp.access import Array, Array2d, bounded, is_active, place, weight_at
from ffi_bridge import warp_kernel

IN_ORDER = np.zeros(0, np.int32)  # the permutation of entries whose weights are in their own order


def sums_of(kernel: Any, outs: Any, launch_dims: Any) -> Callable[..., jax.Array]:
    """Return `f(*ins)`, the sums that the threads of `kernel(*ins, y)` add to zeros by `warp.atomic_add`."""
    # Warp adds atomically from 32 bits up; integers wrap round to the same sums.
    narrow = outs.dtype.itemsize < 4
    dtype = jnp.dtype(jnp.int32) if narrow else outs.dtype
    wide = jax.ShapeDtypeStruct(outs.shape, dtype)
    add = warp_kernel(kernel, wide, launch_dims=launch_dims, in_out_argnames=["y"])

    def call(*ins: Any) -> jax.Array:
        cast = [x.astype(dtype) if narrow and jnp.result_type(x) == outs.dtype else x for x in ins]
        return add(*cast, jnp.zeros(outs.shape, dtype)).astype(outs.dtype)

    return call


@wp.kernel(enable_backward=False)
def scatter_rows(
    data: Array, permutation: Array, indices: Array, indptr: Array, x: Array2d, events: bool, y: Array2d
):
    """y += A.T @ x, one thread per row and column of x; an event of 0 hides its weights."""
    i, c = wp.tid()
    nse = indices.shape[0]
    if is_active(x[i, c]) or not events:
        value = y.dtype(x[i, c])
        for k in range(bounded(indptr[i], nse), bounded(indptr[i + 1], nse)):
            j = place(indices[k], y.shape[0])
            if j >= 0:
                wp.atomic_add(y, j, c, weight_at(data, permutation, k) * value)


def add_event_rows(y: jax.Array, data: Any, indices: Any, indptr: Any, events: Any) -> jax.Array:
    """Return y + A.T @ events, for y of any shape laid flat, in place where y is not needed again."""
    flat = jax.ShapeDtypeStruct((y.size, 1), y.dtype)
    run = warp_kernel(scatter_rows, flat, launch_dims=(events.size, 1), in_out_argnames=["y"])
    weights = data.reshape(-1).astype(y.dtype)
    return run(weights, IN_ORDER, indices, indptr, events.reshape(-1, 1), True, y.reshape(-1, 1)).reshape(
        y.shape
    )

"""CSR to dense in Warp: one thread per row."""

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import warp as wp

from event_ops.kernels.warp.access import Array, Array2d, at, bounded, place
from ffi_bridge import warp_kernel


@wp.kernel(enable_backward=False)
def todense(data: Array, indices: Array, indptr: Array, D: Array2d):
    i = wp.tid()
    nse = indices.shape[0]
    for k in range(bounded(indptr[i], nse), bounded(indptr[i + 1], nse)):
        j = place(indices[k], D.shape[1])
        if j >= 0:
            D[i, j] = D[i, j] + at(data, k)


def build(*, outs: Any, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays that calls the kernel."""
    add = warp_kernel(todense, outs, launch_dims=outs.shape[0], in_out_argnames=["D"])
    return lambda data, indices, indptr: add(
        data.astype(outs.dtype), indices, indptr, jnp.zeros(outs.shape, outs.dtype)
    )

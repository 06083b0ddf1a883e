"""Scaling the rows of a CSR matrix in Warp: one thread per row."""

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import warp as wp

from event_ops.kernels.warp.access import Array, bounded, is_active
from ffi_bridge import warp_kernel


@wp.kernel(enable_backward=False)
def scale_rows(data: Array, indptr: Array, x: Array, events: bool, out: Array):
    i = wp.tid()
    nse = data.shape[0]
    if is_active(x[i]) or not events:
        for k in range(bounded(indptr[i], nse), bounded(indptr[i + 1], nse)):
            out[k] = data[k] * x[i]


def build(*, outs: Any, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays; bools are numbers whose zeros hide the weights."""

    def call(data: Any, indptr: Any, x: Any) -> Any:
        run = warp_kernel(scale_rows, outs, launch_dims=x.size, in_out_argnames=["out"])
        return run(data, indptr, x.astype(outs.dtype), x.dtype == bool, jnp.zeros(outs.shape, outs.dtype))

    return call

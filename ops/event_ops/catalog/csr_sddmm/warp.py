"""Sampled dense-dense product in Warp: one thread per row, for the entries of that row."""

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import warp as wp

from event_ops.kernels.warp.access import Array, Array2d, bounded, place
from ffi_bridge import warp_kernel

NONE, OF_X, OF_Y = 0, 1, 2  # which factor is events: 0 there hides the other factor, even NaN


@wp.func
def term(x: Any, y: Any, events: wp.int32) -> Any:
    """x * y, and exactly 0 where the one that is an event is 0."""
    zero = type(x)(0)
    if (events == 1 and x == zero) or (events == 2 and y == zero):
        return zero
    return x * y


@wp.kernel(enable_backward=False)
def sddmm(indices: Array, indptr: Array, X: Array2d, Y: Array2d, events: wp.int32, out: Array):
    i = wp.tid()
    nse = indices.shape[0]
    for k in range(bounded(indptr[i], nse), bounded(indptr[i + 1], nse)):
        j = place(indices[k], Y.shape[0])
        total = out.dtype(0)
        if j >= 0:
            for n in range(X.shape[1]):
                total += term(X[i, n], Y[j, n], events)
        out[k] = total


def build(*, outs: Any, shape: tuple[int, int], **_: Any) -> Callable[..., Any]:
    """Return the function of arrays; vectors are matrices of one column."""
    run = warp_kernel(sddmm, outs, launch_dims=shape[0], in_out_argnames=["out"])

    def call(indices: Any, indptr: Any, X: Any, Y: Any) -> Any:
        events = OF_X if X.dtype == bool else OF_Y if Y.dtype == bool else NONE
        factors = [x.astype(outs.dtype).reshape(x.shape[0], *(x.shape[1:] or (1,))) for x in (X, Y)]
        return run(indices, indptr, *factors, events, jnp.zeros(outs.shape, outs.dtype))

    return call

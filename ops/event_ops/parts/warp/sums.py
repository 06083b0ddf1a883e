"""Sums that many threads add to."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from ffi_bridge import warp_kernel


def sums_of(kernel: Any, outs: Any, launch_dims: Any) -> Callable[..., jax.Array]:
    """`f(*ins)`: what the threads of `kernel(*ins, y)` add to zeros by `warp.atomic_add`."""
    # Warp adds atomically from 32 bits up; integers wrap round to the same sums.
    narrow = outs.dtype.itemsize < 4
    dtype = jnp.dtype(jnp.int32) if narrow else outs.dtype
    wide = jax.ShapeDtypeStruct(outs.shape, dtype)
    add = warp_kernel(kernel, wide, launch_dims=launch_dims, in_out_argnames=["y"])

    def call(*ins: Any) -> jax.Array:
        cast = [x.astype(dtype) if narrow and x.dtype == outs.dtype else x for x in ins]
        return add(*cast, jnp.zeros(outs.shape, dtype)).astype(outs.dtype)

    return call

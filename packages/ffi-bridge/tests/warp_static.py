"""A Warp kernel with a static parameter, whose sign shows in its result."""

import jax.numpy as jnp
import warp as wp

from ffi_bridge import warp_kernel


@wp.kernel
def divide_by(x: wp.array(dtype=float), c: float, y: wp.array(dtype=float)):
    y[wp.tid()] = 1.0 / c


inverse = warp_kernel(divide_by, lambda x, **_: x, launch_dims=jnp.arange(3).size)

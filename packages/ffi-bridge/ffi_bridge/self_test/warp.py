"""Compile and run a kernel of Warp, on the platform that JAX runs on."""

import jax
import jax.numpy as jnp
import warp as wp

from ffi_bridge.warp.kernel import warp_kernel


@wp.kernel
def double(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    """y = 2 * x."""
    i = wp.tid()
    y[i] = 2.0 * x[i]


def run() -> bool:
    """Return whether the kernel doubles its input."""
    x = jnp.arange(4.0)
    return bool((warp_kernel(double, jax.ShapeDtypeStruct(x.shape, x.dtype))(x) == 2 * x).all())

"""Kernels of Warp, a function that launches some over a temporary, and what it is called with."""

import jax
import jax.numpy as jnp
import warp as wp

wp.config.quiet = True
F32 = jnp.float32


@wp.kernel
def scaled(x: wp.array[float], factor: float, y: wp.array[float]):
    i = wp.tid()
    y[i] = factor * x[i]


@wp.kernel
def multiplied(x: wp.array[float], y: wp.array[float], z: wp.array[float]):
    i = wp.tid()
    z[i] = x[i] * y[i]


def cube(x: wp.array[float], y: wp.array[float]):
    square = wp.empty(x.shape, dtype=float)
    wp.launch(multiplied, dim=x.shape, inputs=[x, x], outputs=[square])
    wp.launch(multiplied, dim=x.size, inputs=[square, x], outputs=[y])


def out(*shape, dtype=F32):
    return jax.ShapeDtypeStruct(shape, dtype)


X = jnp.arange(10, dtype=F32)

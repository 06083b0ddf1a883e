"""Compile and run a Numba kernel on the CPU."""

from typing import Any

import jax
import jax.numpy as jnp
import numba

from ffi_bridge.numba_cpu.kernel import numba_kernel


@numba.njit
def double(x: Any, y: Any) -> None:
    """y = 2 * x."""
    for i in range(x.size):
        y[i] = 2 * x[i]


def run() -> bool:
    """Return whether the kernel doubles its input, on the CPU also where JAX prefers a GPU."""
    with jax.default_device(jax.devices("cpu")[0]):
        x = jnp.arange(4.0)
        return bool((numba_kernel(double, jax.ShapeDtypeStruct(x.shape, x.dtype))(x) == 2 * x).all())

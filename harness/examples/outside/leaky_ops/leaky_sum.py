"""The operator `leaky_sum`: a running sum that forgets."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax.typing import ArrayLike
from numba import njit

from ffi_bridge import XLACustomKernel, numba_kernel


def leaky_sum(x: ArrayLike, decay: ArrayLike, *, backend: str | None = None) -> jax.Array:
    """`y[t] = decay * y[t - 1] + x[t]`, with y[-1] = 0. Differentiable in x and decay.

    Args:
        x: (n,); float32 or float64.
        decay: 0-d, dtype of x.
        backend: run on this one or not at all; default: choose.

    Returns:
        y: (n,), dtype of x.

    Raises:
        TypeError: x is no vector of floats.
    """
    x = jnp.asarray(x)
    if x.ndim != 1 or x.dtype not in (jnp.float32, jnp.float64):
        raise TypeError(f"x is {x.dtype}{x.shape}; expected a vector of float32 or float64")
    return kernel(
        x, jnp.asarray(decay, x.dtype), outs=jax.ShapeDtypeStruct(x.shape, x.dtype), backend=backend
    )


def reference(**_: Any) -> Callable[..., jax.Array]:
    """Return the definition, in pure JAX; derivatives come from it."""

    def run(x: jax.Array, decay: jax.Array) -> jax.Array:
        def step(y: jax.Array, now: jax.Array) -> tuple[jax.Array, jax.Array]:
            y = decay * y + now
            return y, y

        return jax.lax.scan(step, jnp.zeros_like(decay), x)[1]

    return run


@njit
def leaky_sum_kernel(x: Any, decay: Any, y: Any) -> None:
    """Compute the same in Numba."""
    # Of x's dtype: from a plain 0 Numba would add up in float64.
    total = x.dtype.type(0)
    for t in range(x.size):
        total = decay[()] * total + x[t]
        y[t] = total


kernel = XLACustomKernel("leaky_sum")
kernel.def_reference(reference)
kernel.def_numba_kernel(lambda *, outs, **_: numba_kernel(leaky_sum_kernel, outs))

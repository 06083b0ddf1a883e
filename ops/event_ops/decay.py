"""exp(-dt / tau), as a constant of the compiled code where it can be one."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np


def is_known(x: Any) -> bool:
    """Whether the values of `x` are known now: numbers and NumPy arrays, nothing that JAX may trace."""
    return isinstance(x, (int, float, np.number, np.ndarray))


def decay_factor(tau: Any, dt: Any, dtype: Any) -> jax.Array:
    """exp(-dt / tau) in `dtype`; differentiable in `tau` and `dt` where they are JAX arrays."""
    if is_known(tau) and is_known(dt):
        # In double precision, before the program runs, rather than once per step.
        return jnp.asarray(np.exp(-np.asarray(dt, float) / np.asarray(tau, float)), dtype)
    return jnp.exp(-jnp.asarray(dt, dtype) / jnp.asarray(tau, dtype))

"""exp(-dt / tau), as a constant of the compiled code where it can be one."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np


def is_number(x: Any) -> bool:
    """Whether `x` is known now and is one number: no array, nothing traced."""
    return isinstance(x, (int, float, np.number)) or (isinstance(x, np.ndarray) and x.ndim == 0)


def decay_factor(tau: Any, dt: Any, dtype: Any) -> jax.Array:
    """exp(-dt / tau) in `dtype`; differentiable in `tau` and `dt` where they are arrays."""
    if is_number(tau) and is_number(dt):
        # In double precision, before the program runs, rather than once per step.
        return jnp.asarray(np.exp(-float(dt) / float(tau)), dtype)
    return jnp.exp(-jnp.asarray(dt, dtype) / jnp.asarray(tau, dtype))

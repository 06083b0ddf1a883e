"""`axpy` in pure JAX: its definition."""

from collections.abc import Callable
from typing import Any

import jax


def axpy(a: jax.Array, x: jax.Array, y: jax.Array) -> jax.Array:
    """a * x + y."""
    return a * x + y


def build(**_: Any) -> Callable[..., jax.Array]:
    """Return `axpy`."""
    return axpy

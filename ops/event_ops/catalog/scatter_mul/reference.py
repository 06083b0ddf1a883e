"""`scatter_mul` in pure JAX: its definition."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax

from event_ops.checks.keywords import refuse_error
from event_ops.kernels.reference.extrema import in_jax


def build(*, mode: str, **_: Any) -> Callable[..., jax.Array]:
    """Return `scatter_mul` for one mode."""
    refuse_error("scatter_mul", mode)
    return in_jax("mul", mode, from_end=True)

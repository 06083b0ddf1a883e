"""`segment_sum` in pure JAX: its definition."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from event_ops.checks.keywords import combined_at_places, refuse_error
from event_ops.kernels.reference.neutral import accumulated_in


def build(*, outs: Any, mode: str, **_: Any) -> Callable[..., jax.Array]:
    """Return `segment_sum` for one mode; ids that ascend get no special treatment."""
    refuse_error("segment_sum", mode)

    def segment_sum(data: jax.Array, segment_ids: jax.Array) -> jax.Array:
        with jax.enable_x64(True):
            wide = accumulated_in(outs.dtype)
            zeros = jnp.zeros(outs.shape, wide)
            sums = combined_at_places("add", zeros, segment_ids, data.astype(wide), mode)
            return sums.astype(outs.dtype)

    return segment_sum

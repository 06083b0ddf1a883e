"""Segment sums in Warp: one thread per element of the data; whether the ids ascend makes no difference."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from event_ops.checks.keywords import refuse_error
from event_ops.kernels.reference.neutral import accumulated_in
from event_ops.kernels.warp.scatter import scatter


def build(*, outs: Any, mode: str, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays for one mode."""
    refuse_error("segment_sum", mode)  # a Warp kernel cannot raise either
    add = scatter("add", mode, from_end=False)

    def segment_sum(data: jax.Array, segment_ids: jax.Array) -> jax.Array:
        with jax.enable_x64(True):
            zeros = jnp.zeros(outs.shape, accumulated_in(outs.dtype))
            return add(zeros, segment_ids, data).astype(outs.dtype)

    return segment_sum

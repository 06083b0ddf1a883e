"""Segment sums in Warp: one thread per element of the data; whether the ids ascend makes no difference."""

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp

from event_ops.checks.keywords import refuse_error
from event_ops.parts.warp.scatter import scatter


def build(*, outs: Any, mode: str, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays for one mode."""
    refuse_error("segment_sum", mode)  # a Warp kernel cannot raise either
    add = scatter("add", mode, from_end=False)
    return lambda data, segment_ids: add(jnp.zeros(outs.shape, outs.dtype), segment_ids, data)

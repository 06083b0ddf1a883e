"""Scatter-add on a GPU: one thread per element of the updates, which are added atomically."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from event_ops.checks.keywords import places, refuse_error
from event_ops.kernels.numba_cuda.fixed_order import depends_on_order, summed_at_places
from event_ops.kernels.numba_cuda.into_target import into_target


def build(*, outs: Any, mode: str, deterministic: bool = False, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays for one mode; target is updated in place where it is not needed again."""
    refuse_error("scatter_add", mode)  # a CUDA kernel cannot raise either
    if not (deterministic and depends_on_order(outs)):
        return into_target("add", mode, from_end=True)
    width = outs.shape[1] if len(outs.shape) > 1 else 1
    matrix = jax.ShapeDtypeStruct((outs.shape[0], width), outs.dtype)

    def call(target: Any, indices: Any, updates: Any) -> Any:
        rows = updates.reshape(indices.size, width) if updates.ndim else updates
        each = jnp.broadcast_to(rows, (indices.size, width))
        at = places(indices, outs.shape[0], mode, from_end=True)
        return target + summed_at_places(at, each, matrix).reshape(outs.shape)

    return call

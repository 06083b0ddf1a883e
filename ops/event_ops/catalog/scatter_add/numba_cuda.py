"""Scatter-add on a GPU: one thread per element of the updates, which are added atomically."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from event_ops.checks.keywords import places, refuse_error
from event_ops.parts.numba_cuda.fixed_order import depends_on_order, summed_at_places
from event_ops.parts.numba_cuda.scatter import atomic_dtype, launch_add_rows
from ffi_bridge import numba_cuda_callable


def build(*, outs: Any, mode: str, deterministic: bool = False, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays for one mode; target is updated in place where it is not needed again."""
    refuse_error("scatter_add", mode)  # a CUDA kernel cannot raise either
    width = outs.shape[1] if len(outs.shape) > 1 else 1
    matrix = jax.ShapeDtypeStruct((outs.shape[0], width), atomic_dtype(outs.dtype))

    # target and y are the same memory.
    def add(target: Any, indices: Any, updates: Any, y: Any, stream: Any) -> None:
        launch_add_rows(indices, updates, y, stream, mode=mode, from_end=True)

    run = numba_cuda_callable(add, matrix, input_output_aliases={0: 0})

    def call(target: Any, indices: Any, updates: Any) -> Any:
        rows = updates.reshape(indices.size, width) if updates.ndim else jnp.full((1, width), updates)
        if deterministic and depends_on_order(outs):
            each = jnp.broadcast_to(rows, (indices.size, width))
            at = places(indices, outs.shape[0], mode, from_end=True)
            return target + summed_at_places(at, each, matrix).reshape(outs.shape)
        y = run(target.reshape(matrix.shape).astype(matrix.dtype), indices, rows.astype(matrix.dtype))
        return y.astype(outs.dtype).reshape(outs.shape)

    return call

"""Scatters into a target that is updated in place where it is not needed again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from event_ops.kernels.numba_cuda.scatter import atomic_dtype, launch_rows
from ffi_bridge import numba_cuda_callable


def into_target(how: str, mode: str, from_end: bool, ascending: bool = False) -> Callable[..., jax.Array]:
    """Return `(target, indices, updates) -> y` by "add", of integers "max" or "min", of bits "mul"."""

    # target and y are the same memory.
    def put(target: Any, indices: Any, updates: Any, y: Any, stream: Any) -> None:
        arrays = indices, updates, y
        launch_rows(how, arrays, stream, mode, from_end=from_end, ascending=ascending)

    def call(target: jax.Array, indices: jax.Array, updates: jax.Array) -> jax.Array:
        width = target.shape[1] if target.ndim > 1 else 1
        matrix = jax.ShapeDtypeStruct((target.shape[0], width), atomic_dtype(target.dtype))
        rows = updates.reshape(indices.size, width) if updates.ndim else jnp.full((1, width), updates)
        run = numba_cuda_callable(put, matrix, input_output_aliases={0: 0})
        y = run(
            target.reshape(matrix.shape).astype(matrix.dtype),
            indices,
            rows.astype(atomic_dtype(updates.dtype)),
        )
        return y.astype(target.dtype).reshape(target.shape)

    return call

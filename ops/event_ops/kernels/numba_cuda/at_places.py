"""Updates combined at places on a GPU: atomically, or sorted by place where they need a fixed order.

A thread has one element of the updates, or of ascending ones a run, which it combines first.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from numba import cuda

from event_ops.checks.keywords import places
from event_ops.kernels.numba_cuda.fixed_order import sorted_by_place, summed_at_places
from event_ops.kernels.numba_cuda.scatter import atomic_dtype, launch_rows
from event_ops.kernels.numba_cuda.threads import BLOCK, blocks_of
from event_ops.kernels.reference.at_places import of_numbers, operators_of
from ffi_bridge import numba_cuda_callable


def by_atomics(how: str, mode: str, from_end: bool, ascending: bool) -> Callable[..., jax.Array]:
    """Return `(target, indices, updates) -> y` by "add", of keys "max" or "min", of bits "mul"."""

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


@cuda.jit
def multiply_in_order(target: Any, updates: Any, starts: Any, permutation: Any, y: Any) -> None:
    """y = target times the updates of each place i: once permuted, from starts[i] to starts[i + 1]."""
    at = cuda.grid(1)
    if at < y.size:
        i, c = at // y.shape[1], at % y.shape[1]
        product = target[i, c]
        for k in range(starts[i], starts[i + 1]):
            product *= updates[permutation[k], c]
        y[i, c] = product


def in_order(how: str, mode: str, from_end: bool, _ascending: bool) -> Callable[..., jax.Array]:
    """Return the function whose sums and products have one order; extrema have no need of it."""

    def multiply(target: Any, updates: Any, starts: Any, permutation: Any, y: Any, stream: Any) -> None:
        arrays = target, updates, starts, permutation, y
        multiply_in_order[blocks_of(y.size), BLOCK, stream](*arrays)

    def call(target: jax.Array, indices: jax.Array, updates: jax.Array) -> jax.Array:
        size, width = target.shape[0], target.shape[1] if target.ndim > 1 else 1
        matrix = jax.ShapeDtypeStruct((size, width), target.dtype)
        rows = updates.reshape(indices.size, width) if updates.ndim else updates
        each = jnp.broadcast_to(rows, (indices.size, width)).astype(target.dtype)
        at = places(indices, size, mode, from_end=from_end)
        if how == "add":
            return target + summed_at_places(at, each, matrix).reshape(target.shape)
        starts, permutation = sorted_by_place(at, size)
        run = numba_cuda_callable(multiply, matrix)
        return run(target.reshape(matrix.shape), each, starts, permutation).reshape(target.shape)

    return call


_scatters, _segments = operators_of(of_numbers(by_atomics, makes_keys=True), in_order)
scatter_add, scatter_mul, scatter_min, scatter_max = _scatters
segment_sum, segment_min, segment_max = _segments

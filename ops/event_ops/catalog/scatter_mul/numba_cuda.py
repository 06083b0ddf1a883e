"""Products at places on a GPU: by compare and swap; if deterministic, of sorted updates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from numba import cuda

from event_ops.checks.keywords import places, refuse_error
from event_ops.kernels.numba_cuda.fixed_order import depends_on_order, sorted_by_place
from event_ops.kernels.numba_cuda.into_target import into_target
from event_ops.kernels.numba_cuda.threads import BLOCK, blocks_of
from event_ops.kernels.reference.ordered import bits_of, from_bits
from ffi_bridge import numba_cuda_callable


def build(*, outs: Any, mode: str, deterministic: bool = False, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays for one mode."""
    refuse_error("scatter_mul", mode)  # a CUDA kernel cannot raise either
    if deterministic and depends_on_order(outs):
        return in_order(mode)
    multiply = into_target("mul", mode, from_end=True)

    def call(target: Any, indices: Any, updates: Any) -> Any:
        return from_bits(multiply(bits_of(target), indices, updates), target.dtype)

    return call


@cuda.jit
def multiply_in_order(target: Any, updates: Any, starts: Any, permutation: Any, y: Any) -> None:
    """y = target times the updates of each place, those from starts[i] to starts[i + 1] once permuted."""
    at = cuda.grid(1)
    if at < y.size:
        i, c = at // y.shape[1], at % y.shape[1]
        product = target[i, c]
        for k in range(starts[i], starts[i + 1]):
            product *= updates[permutation[k], c]
        y[i, c] = product


def in_order(mode: str) -> Callable[..., Any]:
    """Return the function of arrays whose products have one order."""

    def multiply(target: Any, updates: Any, starts: Any, permutation: Any, y: Any, stream: Any) -> None:
        arrays = target, updates, starts, permutation, y
        multiply_in_order[blocks_of(y.size), BLOCK, stream](*arrays)

    def call(target: Any, indices: Any, updates: Any) -> Any:
        size, width = target.shape[0], target.shape[1] if target.ndim > 1 else 1
        rows = updates.reshape(indices.size, width) if updates.ndim else updates
        each = jnp.broadcast_to(rows, (indices.size, width))
        starts, permutation = sorted_by_place(places(indices, size, mode, from_end=True), size)
        matrix = jax.ShapeDtypeStruct((size, width), target.dtype)
        run = numba_cuda_callable(multiply, matrix)
        return run(target.reshape(matrix.shape), each, starts, permutation).reshape(target.shape)

    return call

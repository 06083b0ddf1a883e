"""Products with a matrix of words on a GPU: as many threads per row as suit its length."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from event_ops.checks.packed_entries import column_bits, equal_starts
from event_ops.kernels.numba_cuda.by_length import ahead_of, lanes_of
from event_ops.kernels.numba_cuda.history import recent_sums
from event_ops.kernels.numba_cuda.packed_entries import (
    add_row_of,
    code_of,
    make_gather_words,
    make_scatter_words,
)
from event_ops.kernels.numba_cuda.scatter import adding_callable
from event_ops.kernels.numba_cuda.threads import BLOCK, blocks_of, clear
from event_ops.kernels.reference.compact_products import products_of
from event_ops.kernels.reference.packed_entries import by_parts, scaled
from ffi_bridge import numba_cuda_callable


def gather(outs: Any, shape: tuple[int, int]) -> Callable[..., jax.Array]:
    """Return `f(words, indptr, scale, x)` for scale * (C @ x), C the matrix of codes."""

    def product(words: Any, indptr: Any, scale: Any, x: Any, shape: tuple[int, int]) -> jax.Array:
        rows, bits = shape[0], np.int32(column_bits(words, shape[1]))

        def launch(words: Any, indptr: Any, scale: Any, x: Any, y: Any, stream: Any) -> None:
            lanes = lanes_of(words.size, rows)
            kernel = make_gather_words(lanes, ahead_of(words.size, rows * lanes), y.dtype, code_of(words))
            kernel[blocks_of(rows * lanes), BLOCK, stream](words, indptr, scale, x, bits, y)

        return numba_cuda_callable(launch, outs)(words, indptr, scale.reshape(-1), x)

    return by_parts(product, shape, False)


def scatter(outs: Any, shape: tuple[int, int]) -> Callable[..., jax.Array]:
    """Return `f(words, indptr, scale, x)` for C.T @ (scale * x), C the matrix of codes."""

    def product(words: Any, indptr: Any, scale: Any, x: Any, shape: tuple[int, int]) -> jax.Array:
        rows, bits = shape[0], np.int32(column_bits(words, shape[1]))

        def launch(words: Any, indptr: Any, x: Any, y: Any, stream: Any) -> None:
            clear(y, stream)
            lanes = lanes_of(words.size, rows)
            kernel = make_scatter_words(lanes, ahead_of(words.size, rows * lanes), y.dtype, code_of(words))
            kernel[blocks_of(rows * lanes), BLOCK, stream](words, indptr, x, bits, y)

        sums = jax.ShapeDtypeStruct(shape[1:], outs.dtype)
        return adding_callable(launch, sums)(words, indptr, scaled(scale, x))

    return by_parts(product, shape, True)


def deliver(outs: Any, shape: tuple[int, int]) -> Callable[..., jax.Array]:
    """Return `f(words, indptr, scale, events)` for C.T @ (scale * events), by the rows of active events."""
    rows, columns = shape

    def call(words: Any, indptr: Any, scale: Any, events: Any) -> jax.Array:
        ends = indptr.reshape(-1, rows + 1)
        inputs = words, ends, equal_starts(columns, ends.shape[0]), np.int32(0)
        add = recent_sums(outs, add_row_of(words))
        return add(events[None], scale.reshape(-1), *inputs, jnp.zeros(outs.shape, outs.dtype))

    return call


compact_matvec, compact_event_matvec = products_of(gather, scatter, deliver)

"""Products with a matrix of words in Warp: one thread per row, which ends at once if it is silent."""

from collections.abc import Callable
from typing import Any

import jax
import warp as wp

from event_ops.checks.packed_entries import column_bits
from event_ops.kernels.reference.compact_products import products_of
from event_ops.kernels.reference.packed_entries import by_parts, scaled
from event_ops.kernels.warp.access import Array, at, bounded, is_active, place
from event_ops.kernels.warp.scatter import sums_of
from ffi_bridge import warp_kernel


@wp.func
def column_in(word: Any, bits: wp.int32) -> wp.int64:
    """Return the column that a word holds in its lowest `bits`."""
    return wp.int64(word) % (wp.int64(1) << wp.int64(bits))


@wp.func
def code_in(word: wp.uint32, bits: wp.int32) -> wp.int32:
    """Return the code of a word, with its sign."""
    return wp.int32(word) >> bits


@wp.func
def code_in(word: wp.uint16, bits: wp.int32) -> wp.int32:  # noqa: F811
    """Return 1, the code of a narrow word."""
    return 1


@wp.kernel(enable_backward=False)
def gather_words(words: Array, indptr: Array, scale: Array, values: Array, bits: wp.int32, y: Array):
    i = wp.tid()
    nse = words.shape[0]
    total = y.dtype(0)
    for k in range(bounded(indptr[i], nse), bounded(indptr[i + 1], nse)):
        j = place(column_in(words[k], bits), values.shape[0])
        if j >= 0:
            total += y.dtype(code_in(words[k], bits)) * values[j]
    # Inactive events add exactly 0, also to a row whose scale is infinite or NaN.
    if is_active(total):
        total *= at(scale, i)
    y[i] = total


@wp.kernel(enable_backward=False)
def scatter_words(words: Array, indptr: Array, values: Array, bits: wp.int32, y: Array):
    i = wp.tid()
    nse = words.shape[0]
    if is_active(values[i]):  # codes are finite: times 0, they add nothing
        for k in range(bounded(indptr[i], nse), bounded(indptr[i + 1], nse)):
            j = place(column_in(words[k], bits), y.shape[0])
            if j >= 0:
                wp.atomic_add(y, j, y.dtype(code_in(words[k], bits)) * values[i])


def gather(outs: Any, shape: tuple[int, int]) -> Callable[..., jax.Array]:
    """Return `f(words, indptr, scale, x)` for scale * (C @ x), C the matrix of codes."""
    run = warp_kernel(gather_words, outs)

    def product(words: Any, indptr: Any, scale: Any, x: Any, shape: tuple[int, int]) -> jax.Array:
        return run(words, indptr, scale.reshape(-1), x, column_bits(words, shape[1]))

    return by_parts(product, shape, False)


def scatter(outs: Any, shape: tuple[int, int]) -> Callable[..., jax.Array]:
    """Return `f(words, indptr, scale, x)` for C.T @ (scale * x), C the matrix of codes."""

    def product(words: Any, indptr: Any, scale: Any, x: Any, shape: tuple[int, int]) -> jax.Array:
        run = sums_of(scatter_words, jax.ShapeDtypeStruct(shape[1:], outs.dtype), shape[0])
        return run(words, indptr, scaled(scale, x), column_bits(words, shape[1]))

    return by_parts(product, shape, True)


compact_matvec, compact_event_matvec = products_of(gather, scatter)

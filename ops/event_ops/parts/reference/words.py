"""Entries of a matrix as words of 32 bits: a column in the low bits, above it a signed code of the weight."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from event_ops.checks.words import columns_in, index_bits
from event_ops.parts.reference.entries import ends_of, inside, sums_at, values_at


def codes_in(words: Any, columns: int) -> Any:
    """Return the code that each word holds, as int32."""
    return words.view(np.int32) >> np.int32(index_bits(columns))


def words_of(ids: Any, codes: Any, columns: int) -> Any:
    """Return the words that hold these columns, in range, and codes that fit; integer arrays of NumPy."""
    high = codes.astype(np.int32).view(np.uint32) << np.uint32(index_bits(columns))
    return high | ids.astype(np.uint32)


def scaled(scale: jax.Array, x: jax.Array) -> jax.Array:
    """Return scale * x, and exactly 0 where x is 0, whatever the scale is."""
    return jnp.where(x != 0, scale * x, 0)


def product(
    words: jax.Array, indptr: jax.Array, scale: jax.Array, x: jax.Array, shape: tuple[int, int], dtype: Any
) -> jax.Array:
    """y[i] = scale[i] * (sum over the words of row i of code * x[column])."""
    columns, codes = columns_in(words, shape[1]), codes_in(words, shape[1]).astype(dtype)
    (rows, size), _ = ends_of(columns, indptr, shape, False)
    codes = jnp.where(inside(columns, shape[1]) < shape[1], codes, 0)
    return scaled(scale, sums_at(codes * values_at(x, columns), rows, size))


def transposed_product(
    words: jax.Array, indptr: jax.Array, scale: jax.Array, x: jax.Array, shape: tuple[int, int], dtype: Any
) -> jax.Array:
    """y[j] = sum over the words of column j of code * scale[row] * x[row]."""
    columns, codes = columns_in(words, shape[1]), codes_in(words, shape[1]).astype(dtype)
    (ids, size), (rows, _) = ends_of(columns, indptr, shape, True)
    return sums_at(codes * values_at(scaled(scale, x), rows), ids, size)

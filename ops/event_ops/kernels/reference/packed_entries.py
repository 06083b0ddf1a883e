"""Entries of a matrix as words: a column, and in words of 32 bits above it a signed code of the weight."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from event_ops.checks.packed_entries import are_narrow, columns_in, equal_starts, index_bits
from event_ops.kernels.reference.entries import ends_of, inside, rows_of, sums_at, values_at


class InRows(NamedTuple):
    """Entries in the order of their rows: codes and columns of each, and where rows begin."""

    codes: Any
    columns: Any
    indptr: Any


def codes_in(words: Any, columns: int) -> Any:
    """Return the code that each word holds, as int32; 1 for a narrow one."""
    if are_narrow(words):
        return (jnp if isinstance(words, jax.Array) else np).ones(words.shape, np.int32)
    return words.view(np.int32) >> np.int32(index_bits(columns))


def words_of(ids: Any, codes: Any, columns: int) -> Any:
    """Return the words that hold these columns, in range, and codes that fit; integer arrays of NumPy."""
    high = codes.astype(np.int32).view(np.uint32) << np.uint32(index_bits(columns))
    return high | ids.astype(np.uint32)


def in_rows(words: Any, indptr: Any, shape: tuple[int, int]) -> InRows:
    """Return the entries of a matrix that may be in parts; a column out of range is as large as their number.

    Entries that no row holds are in front of the first or behind the last.
    """
    rows, columns = shape
    codes, within = codes_in(words, columns), columns_in(words, columns)
    if indptr.ndim == 1:
        return InRows(codes, within, indptr)
    starts = jnp.asarray(equal_starts(columns, len(indptr)))
    # One search in the pointers of all parts: those of part p begin at p * (rows + 1).
    row_in_parts = rows_of(indptr.reshape(-1), words.size)
    part = jnp.maximum(row_in_parts, 0) // (rows + 1)
    row = jnp.where(row_in_parts < 0, -1, row_in_parts % (rows + 1))
    part = jnp.minimum(part, len(indptr) - 1)
    ids = jnp.where(
        within < jnp.diff(starts)[part].astype(within.dtype),
        within + starts[part].astype(within.dtype),
        columns,
    )
    order = jnp.argsort(row, stable=True)
    ends = jnp.searchsorted(row[order], jnp.arange(rows + 1, dtype=row.dtype)).astype(indptr.dtype)
    return InRows(codes[order], ids.astype(within.dtype)[order], ends)


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


def by_parts(
    product: Callable[..., jax.Array], shape: tuple[int, int], transpose: bool
) -> Callable[..., jax.Array]:
    """Return `f(words, indptr, scale, x)`, also for words in equal parts of the columns.

    `product(words, indptr, scale, x, shape)` is that of one part, which has fewer columns.
    """
    rows, columns = shape

    def call(words: jax.Array, indptr: jax.Array, scale: jax.Array, x: jax.Array) -> jax.Array:
        if indptr.ndim == 1:
            return product(words, indptr, scale, x, shape)
        starts, products = equal_starts(columns, len(indptr)).tolist(), []
        for low, high, ends in zip(starts, starts[1:], indptr, strict=False):
            x_of_part = x if transpose else x[low:high]
            products.append(product(words, ends, scale, x_of_part, (rows, high - low)))
        return jnp.concatenate(products) if transpose else sum(products[1:], products[0])

    return call

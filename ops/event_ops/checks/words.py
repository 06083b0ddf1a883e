"""Check the arguments of products with a matrix of words, each a column and a code of its weight."""

from __future__ import annotations

from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np

from event_ops.checks.arrays import FLOATS, INDICES, as_array, check_dtype, check_rank, check_shape

WORD_BITS: Final = 32


def index_bits(columns: int) -> int:
    """Return how many of a word's bits, the lowest, hold a column; the others hold the code."""
    return max(columns - 1, 0).bit_length()


def columns_in(words: Any, columns: int) -> Any:
    """Return the column that each word holds, in [0, 2**index_bits), as uint32."""
    return words & np.uint32((1 << index_bits(columns)) - 1)


def width_of(columns: int, parts: int) -> int:
    """Return how many columns each part of a matrix in parts has; the last may have fewer."""
    return -(-columns // parts)


def equal_starts(columns: int, parts: int) -> np.ndarray:
    """Return the first column of each of the parts of as many columns, and the number of all columns."""
    kind = np.int32 if columns <= np.iinfo(np.int32).max else np.int64
    return np.minimum(np.arange(parts + 1, dtype=np.int64) * width_of(columns, parts), columns).astype(kind)


def ascending(starts: jax.Array, columns: int) -> jax.Array:
    """Return where parts begin as columns that rise, so that no two parts share one, whatever is given."""
    highest = min(columns, int(np.iinfo(starts.dtype).max))
    return jax.lax.cummax(jnp.clip(starts, 0, highest).at[-1].set(highest))


def scale_of(scale: Any, dtype: Any) -> jax.Array:
    """Return the scale as an array, a number in `dtype` if that is a float, else in the default one."""
    if isinstance(scale, int | float):
        return jnp.asarray(scale, dtype if dtype in FLOATS else float)
    return as_array(scale, "scale")


def check_words(entries: jax.Array, indptr: jax.Array, scale: jax.Array, shape: tuple[int, int]) -> None:
    """Raise unless the arrays can be a matrix of `shape` in words, as far as shapes and dtypes tell."""
    _check_dtypes(entries, indptr, scale)
    rows, columns = shape
    check_shape("indptr", indptr, (rows + 1,), why=f"one more than the {rows} rows of shape={shape}")
    _check_scale(scale, shape)
    _check_columns(columns, shape)


def check_parts(
    entries: jax.Array,
    indptr: jax.Array,
    scale: jax.Array,
    starts: jax.Array,
    shape: tuple[int, int],
    slots: int,
) -> None:
    """Raise unless the arrays can be a matrix in parts with a row for each neuron and slot."""
    _check_dtypes(entries, indptr, scale)
    rows, columns = shape
    parts = max(indptr.shape[0], 1)
    why = f"parts, and rows * slots + 1 for {rows} rows and {slots} slots: row i * slots + d has the delay d"
    check_shape("indptr", indptr, (parts, rows * slots + 1), why=why)
    _check_scale(scale, shape)
    check_dtype("starts", starts, INDICES)
    check_shape("starts", starts, (parts + 1,), why=f"where each of {parts} parts begins, and the end")
    _check_columns(columns, shape)


def _check_dtypes(entries: jax.Array, indptr: jax.Array, scale: jax.Array) -> None:
    check_dtype("entries", entries, ("uint32",))
    check_rank("entries", entries, 1, "a word for each")
    check_dtype("indptr", indptr, INDICES)
    check_dtype("scale", scale, FLOATS)


def _check_scale(scale: jax.Array, shape: tuple[int, int]) -> None:
    check_shape("scale", scale, (), (shape[0],), why=f"one for all weights, or one per row of shape={shape}")


def _check_columns(columns: int, shape: tuple[int, int]) -> None:
    if index_bits(columns) >= WORD_BITS:
        raise ValueError(
            f"shape is {shape}; expected at most {1 << WORD_BITS - 1} columns, which leave a bit of a word "
            "for the code; use csr_matvec"
        )

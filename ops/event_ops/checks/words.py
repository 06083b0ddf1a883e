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


def scale_of(scale: Any, dtype: Any) -> jax.Array:
    """Return the scale as an array, a number in `dtype` if that is a float, else in the default one."""
    if isinstance(scale, int | float):
        return jnp.asarray(scale, dtype if dtype in FLOATS else float)
    return as_array(scale, "scale")


def check_words(entries: jax.Array, indptr: jax.Array, scale: jax.Array, shape: tuple[int, int]) -> None:
    """Raise unless the arrays can be a matrix of `shape` in words, as far as shapes and dtypes tell."""
    check_dtype("entries", entries, ("uint32",))
    check_rank("entries", entries, 1, "a word for each")
    check_dtype("indptr", indptr, INDICES)
    check_dtype("scale", scale, FLOATS)
    rows, columns = shape
    check_shape("indptr", indptr, (rows + 1,), why=f"one more than the {rows} rows of shape={shape}")
    check_shape("scale", scale, (), (rows,), why=f"one for all weights, or one per row of shape={shape}")
    if index_bits(columns) >= WORD_BITS:
        raise ValueError(
            f"shape is {shape}; expected at most {1 << WORD_BITS - 1} columns, which leave a bit of a word "
            "for the code; use csr_matvec"
        )

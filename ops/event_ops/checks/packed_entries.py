"""Check the arguments of products with a matrix of words, each a column and a code of its weight.

A word of 32 bits holds both; one of 16 bits, a narrow one, only a column, and its code is 1.
"""

from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np

from event_ops.checks.arrays import FLOATS, INDICES, check_dtype, check_rank, check_shape
from event_ops.checks.inputs import as_input, in_dtype

WORD_BITS: Final = 32
NARROW_BITS: Final = 16
MOST_NARROW: Final = 1 << NARROW_BITS  # columns of a part whose words are narrow


def index_bits(columns: int) -> int:
    """Return how many of a word's bits, the lowest, hold a column; above them is the code."""
    return max(columns - 1, 0).bit_length()


def are_narrow(words: Any) -> bool:
    """Return whether words have 16 bits."""
    return words.dtype == np.uint16


def column_bits(words: Any, columns: int) -> int:
    """Return how many bits of these words hold a column."""
    return NARROW_BITS if are_narrow(words) else index_bits(columns)


def columns_in(words: Any, columns: int) -> Any:
    """Return the column that each word holds, in [0, 2**column_bits), as uint32."""
    return words.astype(np.uint32, copy=False) & np.uint32((1 << column_bits(words, columns)) - 1)


def width_of(columns: int, parts: int) -> int:
    """Return how many columns each part of a matrix in parts has; the last may have fewer."""
    return -(-columns // parts)


def equal_starts(columns: int, parts: int) -> np.ndarray:
    """Return the first column of each of the parts of as many columns, and the number of all columns."""
    # Not int64, which JAX has only where 64-bit types are enabled.
    kind = np.int32 if columns <= np.iinfo(np.int32).max else np.uint32
    return np.minimum(np.arange(parts + 1, dtype=np.int64) * width_of(columns, parts), columns).astype(kind)


def ascending(starts: jax.Array, columns: int) -> jax.Array:
    """Return where parts begin as columns that rise, so that no two parts share one, whatever is given."""
    highest = min(columns, int(np.iinfo(starts.dtype).max))
    return jax.lax.cummax(jnp.clip(starts, 0, highest).at[-1].set(highest))


def scale_of(scale: Any, dtype: Any) -> jax.Array:
    """Return the scale as an array, a number in `dtype` if that is a float, else in the default one."""
    if isinstance(scale, int | float):
        return in_dtype(scale, dtype if dtype in FLOATS else float)
    return as_input(scale, "scale")


def check_words(
    entries: jax.Array,
    indptr: jax.Array,
    scale: jax.Array,
    shape: tuple[int, int],
    *,
    wide_parts: bool = False,
) -> None:
    """Raise unless the arrays can be a matrix of `shape` in words, as far as shapes and dtypes tell.

    Narrow words may be in parts, and those of 32 bits with `wide_parts`.
    """
    _check_arrays(entries, indptr, scale, shape)
    rows, columns = shape
    why, parts = f"one more than the {rows} rows of shape={shape}", 1
    if (are_narrow(entries) or wide_parts) and indptr.ndim == 2 and indptr.shape[0]:
        parts = indptr.shape[0]
        check_shape("indptr", indptr, (parts, rows + 1), why=f"for each of {parts} parts {why}")
    else:
        check_shape("indptr", indptr, (rows + 1,), why=why)
    if are_narrow(entries) and width_of(columns, parts) > MOST_NARROW:
        least = -(-columns // MOST_NARROW)
        raise ValueError(
            f"shape is {shape}, in {parts} part{'s' * (parts > 1)} of the columns; expected at most "
            f"{MOST_NARROW} columns in a part, which 16-bit words can hold; make {least} parts or more, or "
            "use 32-bit words"
        )


def check_parts(
    entries: jax.Array,
    indptr: jax.Array,
    scale: jax.Array,
    starts: jax.Array | None,
    shape: tuple[int, int],
    slots: int,
) -> None:
    """Raise unless the arrays can be a matrix in parts with a row for each neuron and slot."""
    _check_arrays(entries, indptr, scale, shape)
    rows, parts = shape[0], max(indptr.shape[0], 1)
    why = f"parts, and rows * slots + 1 for {rows} rows and {slots} slots: row i * slots + d has the delay d"
    check_shape("indptr", indptr, (parts, rows * slots + 1), why=why)
    if starts is not None:
        check_dtype("starts", starts, INDICES)
        check_shape("starts", starts, (parts + 1,), why=f"where each of {parts} parts begins, and the end")


def _check_arrays(entries: jax.Array, indptr: jax.Array, scale: jax.Array, shape: tuple[int, int]) -> None:
    """Raise unless all but the shape of indptr fits a matrix of words."""
    check_dtype("entries", entries, ("uint32", "uint16"))
    check_rank("entries", entries, 1, "a word for each")
    check_dtype("indptr", indptr, INDICES)
    check_dtype("scale", scale, FLOATS)
    check_shape("scale", scale, (), (shape[0],), why=f"one for all weights, or one per row of shape={shape}")
    if index_bits(shape[1]) >= WORD_BITS:
        raise ValueError(
            f"shape is {shape}; expected at most {1 << WORD_BITS - 1} columns, which leave a bit of a word "
            "for the code; use csr_matvec"
        )

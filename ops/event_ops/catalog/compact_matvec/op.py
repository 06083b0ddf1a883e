"""The operator `compact_matvec`: checks, backends, derivatives."""

from __future__ import annotations

import jax
from jax.typing import ArrayLike

from event_ops.catalog import define_operator
from event_ops.checks import contracts
from event_ops.checks.products import Factor, compact_product
from event_ops.checks.values import contract
from event_ops.rules.packed_entries import product_transpose


@contract(entries=contracts.words, indptr=contracts.ends_of("entries"))
def compact_matvec(
    entries: ArrayLike,
    indptr: ArrayLike,
    scale: ArrayLike,
    v: ArrayLike,
    *,
    shape: tuple[int, int],
    transpose: bool = False,
    backend: str | None = None,
) -> jax.Array:
    """`y = A @ v` for a CSR matrix A whose entries are words, or `y = A.T @ v` with transpose=True.

    The low `bits = (columns - 1).bit_length()` bits of a 32-bit word are its column, the others its code,
    signed; a 16-bit word is a column, and its code is 1. The weight of entry k of row i is
    code[k] * scale[i], or code[k] * scale. `CSR.compact` makes such words.
    Entries may be unsorted, and duplicates add up. A word whose column is not below `columns` contributes
    nothing; nor do words outside of what indptr spans. What is 0 before it is multiplied by a scale stays 0,
    even if that is NaN. Differentiable in scale and v.

    Args:
        entries: (nse,), uint32, the words; or uint16.
        indptr: (rows + 1,), non-decreasing: row i is the words from indptr[i] up to indptr[i + 1]; int32,
            int64 or unsigned. Of uint16 also (parts, rows + 1), for parts of ceil(columns / parts) columns,
            in which columns are counted from the first of the part.
        scale: (), or a number, of all weights; or (rows,), one for each row; float32 or float64, finite.
        v: (columns,), or (rows,) with transpose=True; dtype of scale.
        shape: (rows, columns) of A, static; not of the transpose; at most 2**31 columns, and 2**16 in a
            part of uint16.
        transpose: multiply with A.T.
        backend: run on this one or not at all; default: choose.

    Returns:
        y: (rows,), or (columns,) with transpose=True; dtype of scale; the sum's order is open.

    Raises:
        TypeError: a dtype that is not taken, or scale and v of different ones.
        ValueError: a shape that does not fit `shape`, or too many columns.

    Example:
        >>> import numpy as np
        >>> from event_ops import compact_matvec
        >>> # [[0.5, 0, -1], [0, 1.5, 0]], of codes 1, -2, 3 and two bits for the column
        >>> entries = np.array([1 << 2 | 0, (-2 << 2 | 2) % 2**32, 3 << 2 | 1], np.uint32)
        >>> compact_matvec(entries, np.array([0, 2, 3]), 0.5, np.ones(3, np.float32), shape=(2, 3))
        Array([-0.5,  1.5], dtype=float32)

    Source: the compressed sparse row format; weights in fixed point.
    """
    return compact_product(kernel, entries, indptr, scale, Factor("v", v), shape, transpose, backend)


kernel = define_operator("compact_matvec", "sparse float", family="compact_products", linear=(2, 3))
kernel.def_transpose_rule(product_transpose(kernel))

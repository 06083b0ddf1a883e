"""The operator `csr_tocsc`: checks, backends."""

from __future__ import annotations

import jax
from jax.typing import ArrayLike

from event_ops.catalog import define_operator
from event_ops.checks import contracts
from event_ops.checks.arrays import as_array, counter
from event_ops.checks.csr import check_numbers, check_structure, matrix_shape
from event_ops.checks.values import contract


@contract(indices=contracts.columns, indptr=contracts.ends_of("indices"))
def csr_tocsc(
    indices: ArrayLike, indptr: ArrayLike, *, shape: tuple[int, int], backend: str | None = None
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """`A.T` as CSR, its structure only: entry p of it is entry `permutation[p]` of A, in row csc_indices[p].

    `data[permutation]` are its weights, so that new weights need no new sort. Entries are ordered by column;
    those of one column keep their order in A. Entries whose column is out of range, or that indptr does not
    span, come last, and csc_indptr does not span them. No derivative: the outputs are integers.

    Args:
        indices: (nse,), the column of each entry; int32, int64 or unsigned.
        indptr: (rows + 1,), non-decreasing: row i is the entries from indptr[i] up to indptr[i + 1].
        shape: (rows, columns) of A, static.
        backend: run on this one or not at all; default: choose.

    Returns:
        csc_indices: (nse,), the row of each entry, and `rows` for one that no row spans; dtype of indices.
        csc_indptr: (columns + 1,): column j is the entries from csc_indptr[j] up to csc_indptr[j + 1]; dtype
            of indptr.
        permutation: (nse,), int32, or int64 where nse is too large for it.

    Raises:
        TypeError: a dtype that is not taken.
        ValueError: a shape that does not fit `shape`, or a dtype too small for what it has to count.
    """
    indices, indptr = as_array(indices), as_array(indptr)
    shape = matrix_shape(shape)
    check_structure(indices, indptr, shape)
    check_numbers("indices", indices, shape, f"the rows and columns of shape={shape}")
    check_numbers("indptr", indptr, indices.shape, "the entries")
    (nse,) = indices.shape
    outs = (
        jax.ShapeDtypeStruct((nse,), indices.dtype),
        jax.ShapeDtypeStruct((shape[1] + 1,), indptr.dtype),
        jax.ShapeDtypeStruct((nse,), counter(nse)),
    )
    csc_indices, csc_indptr, permutation = kernel(indices, indptr, outs=outs, shape=shape, backend=backend)
    return csc_indices, csc_indptr, permutation


kernel = define_operator("csr_tocsc", "sparse structure", family="conversions")

"""The operator `csr_matvec`: checks, backends, derivatives."""

from __future__ import annotations

import jax
from jax.typing import ArrayLike

from event_ops.catalog import define_operator
from event_ops.checks import contracts
from event_ops.checks.products import Factor, csr_product
from event_ops.checks.values import contract
from event_ops.rules.products import fold_into, product_transpose


@contract(indices=contracts.columns, indptr=contracts.ends_of("indices"))
def csr_matvec(
    data: ArrayLike,
    indices: ArrayLike,
    indptr: ArrayLike,
    v: ArrayLike,
    *,
    shape: tuple[int, int],
    transpose: bool = False,
    deterministic: bool = False,
    backend: str | None = None,
) -> jax.Array:
    """`y = A @ v` for a CSR matrix A, or `y = A.T @ v` with transpose=True.

    Entries may be unsorted, and duplicates add up. An entry whose column is not in [0, columns) contributes
    nothing, NaN or not; so do entries outside of what indptr spans. Differentiable in data and v.

    Args:
        data: (nse,), the weights; any real, complex or integer dtype of 32 or 64 bits; float16, bfloat16 or
            an integer of 8 or 16 bits. Or one weight for all entries: 0-d, (1,) or a number, of which no
            copies are made.
        indices: (nse,), the column of each weight; int32, int64 or unsigned.
        indptr: (rows + 1,), non-decreasing: row i is the entries from indptr[i] up to indptr[i + 1].
        v: (columns,), or (rows,) with transpose=True; dtype of data, or float32 if that has 16 bits.
        shape: (rows, columns) of A, static; not of the transpose.
        transpose: multiply with A.T.
        deterministic: the same bits at every call, also on a GPU: a transposed product costs a sort of the
            entries there.
        backend: run on this one or not at all; default: choose.

    Returns:
        y: (rows,), or (columns,) with transpose=True; dtype of v; the sum's order is open unless
            deterministic.

    Raises:
        TypeError: a dtype that is not taken, or data and v of ones that do not fit.
        ValueError: a shape that does not fit `shape`.

    Source: the compressed sparse row format as in SciPy's csr_matrix.
    """
    return csr_product(
        kernel, data, indices, indptr, Factor("v", v), shape, transpose, deterministic, backend
    )


kernel = define_operator("csr_matvec", "sparse float", family="csr_products", linear=(0, 3), has_atomics=True)
kernel.def_transpose_rule(product_transpose(kernel))
kernel.def_batching_rule(fold_into(kernel, "csr_matmat", transposed=True))

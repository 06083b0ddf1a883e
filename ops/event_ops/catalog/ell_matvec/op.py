"""The operator `ell_matvec`: checks, backends, derivatives."""

from __future__ import annotations

import jax
from jax.typing import ArrayLike

from event_ops.catalog import define_operator
from event_ops.checks import contracts
from event_ops.checks.products import Factor, ell_product
from event_ops.checks.values import contract
from event_ops.kernels.reference.entries import ell_as_csr
from event_ops.rules.products import ell_transpose, fold_into


@contract(indices=contracts.columns_or_padding)
def ell_matvec(
    data: ArrayLike,
    indices: ArrayLike,
    v: ArrayLike,
    *,
    shape: tuple[int, int],
    transpose: bool = False,
    deterministic: bool = False,
    backend: str | None = None,
) -> jax.Array:
    """`y = A @ v` for an ELLPACK matrix A, or `y = A.T @ v` with transpose=True.

    Every row has the same number of entries; they may be unsorted, and duplicates add up. An entry whose
    column is not in [0, columns) is padding and contributes nothing, NaN or not. Differentiable in data and
    v.

    Args:
        data: (rows, per_row), the weights; any real or complex dtype of 32 or 64 bits, any integer;
            float16 or bfloat16.
        indices: (rows, per_row), the column of each weight; int32, int64 or unsigned.
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

    Source: the ELLPACK-ITPACK storage format.
    """
    return ell_product(kernel, data, indices, Factor("v", v), shape, transpose, deterministic, backend)


kernel = define_operator("ell_matvec", "sparse float", family="ell_products", linear=(0, 2), has_atomics=True)
kernel.def_transpose_rule(ell_transpose(kernel))
kernel.def_batching_rule(fold_into(kernel, "csr_matmat", transposed=True, matrix_of=ell_as_csr))

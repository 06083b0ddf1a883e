"""The operator `csr_sddmm`: checks, backends, derivatives."""

from __future__ import annotations

from typing import Any

import jax
from jax.interpreters import ad
from jax.typing import ArrayLike

from event_ops.catalog import define_operator
from event_ops.checks import contracts
from event_ops.checks.arrays import FLOATS, NUMBERS, as_array, check_dtype, check_same_dtype
from event_ops.checks.csr import check_structure, matrix_shape
from event_ops.checks.values import contract
from ffi_bridge import get_operator


@contract(indices=contracts.columns, indptr=contracts.ends_of("indices"))
def csr_sddmm(
    indices: ArrayLike,
    indptr: ArrayLike,
    X: ArrayLike,
    Y: ArrayLike,
    *,
    shape: tuple[int, int],
    backend: str | None = None,
) -> jax.Array:
    """`out[k] = sum over n of X[i, n] * Y[indices[k], n]`, i the row of entry k: X @ Y.T where A has entries.

    The sampled dense-dense product: the gradient of a CSR matrix's weights. X or Y may be events, as bools:
    an inactive one contributes exactly 0, even where the other factor is NaN or infinite. An entry whose
    column is not in [0, columns), or that no row holds, gives 0. Differentiable in X and in Y.

    Args:
        indices: (nse,), the column of each entry; int32, int64 or unsigned.
        indptr: (rows + 1,), non-decreasing: row i is the entries from indptr[i] up to indptr[i + 1].
        X: (rows, n), or (rows,) for an n of 1; any real, complex or integer dtype from 32 bits up (integers:
            also 8, 16), or bool where Y is float32 or float64.
        Y: (columns, n), or (columns,) for an n of 1; dtype of X, or bool where X is float32 or float64.
        shape: (rows, columns) of A, static.
        backend: run on this one or not at all; default: choose.

    Returns:
        out: (nse,); dtype of X and Y; the sums' order is open.

    Raises:
        TypeError: a dtype that is not taken, X and Y of different ones, or both bool.
        ValueError: a shape that does not fit `shape`, or an n that X and Y do not share.
    """
    indices, indptr, x, y = map(as_array, (indices, indptr, X, Y))
    shape = matrix_shape(shape)
    check_structure(indices, indptr, shape)
    _check_dtypes(x, y)
    widths = _width("X", x, shape[0], "row"), _width("Y", y, shape[1], "column")
    if widths[0] != widths[1]:
        raise ValueError(
            f"X has shape {x.shape} and Y has shape {y.shape}; expected one n, and got n of {widths[0]} "
            f"and of {widths[1]}; products are summed over the last axis of both"
        )
    if widths[0] == 1:
        x, y = x.reshape(shape[0]), y.reshape(shape[1])
    outs = jax.ShapeDtypeStruct(indices.shape, y.dtype if x.dtype == bool else x.dtype)
    return kernel(indices, indptr, x, y, outs=outs, shape=shape, backend=backend)


def _check_dtypes(x: jax.Array, y: jax.Array) -> None:
    if bool in (x.dtype, y.dtype):
        name, other = ("Y", y) if x.dtype == bool else ("X", x)
        check_dtype(name, other, FLOATS)
    else:
        check_dtype("X", x, NUMBERS)
        check_same_dtype("Y", y, "X", x)


def _width(name: str, x: jax.Array, size: int, axis: str) -> int:
    if x.ndim in (1, 2) and x.shape[0] == size:
        return x.shape[1] if x.ndim == 2 else 1
    raise ValueError(
        f"{name} has shape {x.shape}; expected ({size}, n) or ({size},): one row or element per {axis} of A"
    )


kernel = define_operator("csr_sddmm", "sparse float", family="csr_products", linear=(2, 3))  # X, Y


@kernel.def_transpose_rule
def _transpose(ct: Any, indices: Any, indptr: Any, X: Any, Y: Any, *, outs: Any, **params: Any) -> list[Any]:
    """Multiply the matrix whose weights are ct by X, or by Y."""
    of_rows = ad.is_undefined_primal(X)
    wanted, factor = (X, Y) if of_rows else (Y, X)
    name = f"csr_{'event_' * (factor.dtype == bool)}{'matmat' if factor.ndim == 2 else 'matvec'}"
    back = jax.ShapeDtypeStruct(wanted.aval.shape, wanted.aval.dtype)
    product = get_operator(name)(ct, indices, indptr, factor, outs=back, transpose=not of_rows, **params)
    return [None, None, product, None] if of_rows else [None, None, None, product]

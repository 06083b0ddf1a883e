"""The operator `csr_scale_rows`: checks, backends, derivatives."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax.interpreters import ad
from jax.typing import ArrayLike

from event_ops.catalog import define_operator
from event_ops.checks import contracts
from event_ops.checks.arrays import (
    FLOATS,
    INDICES,
    NUMBERS,
    as_array,
    check_dtype,
    check_rank,
    check_same_dtype,
    check_shape,
)
from event_ops.checks.values import contract
from ffi_bridge import get_operator


@contract(indptr=contracts.ends_of("data"))
def csr_scale_rows(
    data: ArrayLike, indptr: ArrayLike, x: ArrayLike, *, backend: str | None = None
) -> jax.Array:
    """`out[k] = data[k] * x[i]`, i the row of entry k: the weights of diag(x) @ A.

    What each neuron's value makes of the weights of its row, in one pass; for columns it is
    `data * x[indices]`, and where both ends have a value `csr_sddmm` has their products. x may be events, as
    bools: the weights of a silent row are not read, and give exactly 0, even if they are NaN. An entry that
    no row holds gives 0. Differentiable in data and in x.

    Args:
        data: (nse,), the weights; any real, complex or integer dtype from 32 bits up (integers: also 8, 16).
        indptr: (rows + 1,), non-decreasing: row i is the entries from indptr[i] up to indptr[i + 1]; int32,
            int64 or unsigned.
        x: (rows,); dtype of data, or bool where data is float32 or float64.
        backend: run on this one or not at all; default: choose.

    Returns:
        out: (nse,); dtype of data.

    Raises:
        TypeError: a dtype that is not taken, or x of another than data.
        ValueError: a shape that does not fit.

    Example:
        >>> import numpy as np
        >>> from event_ops import csr_scale_rows
        >>> # [[1, 0, 2], [0, 3, 0]]
        >>> csr_scale_rows(np.float32([1, 2, 3]), np.int32([0, 2, 3]), np.float32([10, 100]))
        Array([ 10.,  20., 300.], dtype=float32)
    """
    data, indptr, x = map(as_array, (data, indptr, x))
    check_dtype("data", data, FLOATS if x.dtype == bool else NUMBERS)
    check_rank("data", data, 1, "one weight per entry; to have x at every entry, give ones")
    check_dtype("indptr", indptr, INDICES)
    check_rank("indptr", indptr, 1, "CSR structure arrays are flat")
    if x.dtype != bool:
        check_same_dtype("x", x, "data", data)
    check_shape("x", x, (indptr.shape[0] - 1,), why="one element per row: one less than indptr has")
    outs = jax.ShapeDtypeStruct(data.shape, data.dtype)
    return kernel(data, indptr, x, outs=outs, backend=backend)


kernel = define_operator("csr_scale_rows", "sparse float", family="csr_products", linear=(0, 2))


@kernel.def_transpose_rule
def _transpose(ct: Any, data: Any, indptr: Any, x: Any, *, outs: Any, **params: Any) -> list[Any]:
    """Scale the cotangent likewise, or add up its products with the weights along each row."""
    if ad.is_undefined_primal(data):
        return [kernel(ct, indptr, x, outs=outs, **params), None, None]
    rows = x.aval.shape[0]
    back, in_one_column = jax.ShapeDtypeStruct((rows,), outs.dtype), jnp.zeros(outs.shape, jnp.int32)
    static = {"shape": (rows, 1), "transpose": False, "deterministic": False}
    matvec = get_operator("csr_matvec")
    sums = matvec(ct * data, in_one_column, indptr, jnp.ones(1, outs.dtype), outs=back, **static, **params)
    return [None, None, sums]

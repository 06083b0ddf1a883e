"""The operator `ell_matvec`: checks, backends, derivatives."""

from __future__ import annotations

import jax
from jax.typing import ArrayLike

from event_ops.catalog import NONDETERMINISTIC_ON_GPU, define_backends
from event_ops.checks import contracts
from event_ops.checks.arrays import WEIGHTS, as_array, check_factor_dtype, check_rank, summed_in
from event_ops.checks.csr import check_ell, check_operand, matrix_shape
from event_ops.checks.values import contract
from event_ops.kernels.reference.entries import ell_as_csr
from event_ops.rules.linear_inputs import tangent_in
from event_ops.rules.products import ell_transpose, fold_into
from ffi_bridge import XLACustomKernel


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
    data, indices, v = map(as_array, (data, indices, v))
    shape = matrix_shape(shape)
    check_rank("data", data, 2, "(rows, entries per row)")
    check_ell(data, indices, shape, WEIGHTS)
    check_operand("v", v, shape, transpose)
    check_factor_dtype("v", v, "data", data)
    outs = jax.ShapeDtypeStruct((shape[1] if transpose else shape[0],), summed_in(data))
    static = {"shape": shape, "transpose": bool(transpose), "deterministic": bool(deterministic)}
    return kernel(data, indices, v, outs=outs, backend=backend, **static)


kernel = XLACustomKernel("ell_matvec")
kernel.def_tags("sparse", "float")
define_backends(kernel, family="ell_products", lacks_on_gpu=NONDETERMINISTIC_ON_GPU)
kernel.def_jvp_rule2(tangent_in(kernel, 0), None, tangent_in(kernel, 2))  # data, v
kernel.def_transpose_rule(ell_transpose(kernel))
kernel.def_batching_rule(fold_into(kernel, "csr_matmat", transposed=True, matrix_of=ell_as_csr))
